import CInturnSystem

/// A name, a key or a reason: equal to what has the same bytes, up to the zero at its end. Whoever has
/// it sees to it that the text stays. (Swift's strings are equal also where Unicode has several
/// spellings of a character; its tables would make the library a tenth larger.)
struct Bytes: Hashable {
  let text: UnsafePointer<CChar>

  init(_ text: UnsafePointer<CChar>) { self.text = text }

  /// The same bytes where there is room for so many.
  init(_ other: Bytes, copiedTo room: UnsafeMutableRawPointer) {
    memcpy(room, other.text, other.byteCount)
    text = UnsafePointer(room.assumingMemoryBound(to: CChar.self))
  }

  /// With the zero.
  var byteCount: Int { strlen(text) + 1 }

  static func == (left: Bytes, right: Bytes) -> Bool { strcmp(left.text, right.text) == 0 }

  func hash(into hasher: inout Hasher) {
    hasher.combine(bytes: UnsafeRawBufferPointer(start: text, count: strlen(text)))
  }
}
