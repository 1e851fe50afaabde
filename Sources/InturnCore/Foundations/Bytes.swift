import CInturnSystem

/// A name, key or reason: equal to another one with the same bytes, up to the terminating zero. Its
/// owner keeps the text alive. (Swift's strings also compare equal when Unicode has several
/// spellings of a character; the tables for that would make the library a tenth larger.)
struct Bytes: Equatable {
  let text: UnsafePointer<CChar>

  init(_ text: UnsafePointer<CChar>) { self.text = text }

  /// Copies the bytes to memory with room for them.
  init(_ other: Bytes, copiedTo room: UnsafeMutableRawPointer) {
    memcpy(room, other.text, other.byteCount)
    text = UnsafePointer(room.assumingMemoryBound(to: CChar.self))
  }

  /// Includes the zero.
  var byteCount: Int { strlen(text) + 1 }

  static func == (left: Bytes, right: Bytes) -> Bool { strcmp(left.text, right.text) == 0 }
}

/// Bytes and their hash, which is computed once. It is seeded, so that nobody can choose keys that
/// all get into one bucket.
struct HashedBytes: HashKey {
  var bytes: Bytes
  let hash: Int

  init(_ bytes: Bytes) {
    var hasher = Hasher()
    hasher.combine(bytes: UnsafeRawBufferPointer(start: bytes.text, count: strlen(bytes.text)))
    self.bytes = bytes
    hash = hasher.finalize()
  }

  static func == (left: HashedBytes, right: HashedBytes) -> Bool {
    left.hash == right.hash && left.bytes == right.bytes
  }
}
