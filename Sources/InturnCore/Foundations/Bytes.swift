import CInturnSystem

/// A name, key or reason: equal to another one with the same bytes, up to the terminating zero. Its
/// owner keeps the text alive. (Swift's strings also compare equal when Unicode has several
/// spellings of a character; the tables for that would make the library a tenth larger.)
struct Bytes: Hashable {
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

  func hash(into hasher: inout Hasher) {
    hasher.combine(bytes: UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }
}
