#if canImport(Darwin)
  @_exported import Darwin
#elseif canImport(Musl)
  @_exported import Musl
#else
  @_exported import Glibc
#endif

extension UnsafePointer<CChar> {
  /// A copy of the text, to be deallocated.
  package func copied() -> UnsafeMutablePointer<CChar> {
    let size = strlen(self) + 1
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: size)
    memcpy(copy, self, size)
    return copy
  }
}

/// Copies a string, cut at the end of a character if it is too long, and a final zero.
package func cutText(_ text: UnsafePointer<CChar>, to room: UnsafeMutableRawBufferPointer) {
  var length = 0
  while length < room.count && text[length] != 0 { length += 1 }
  text.withMemoryRebound(to: UInt8.self, capacity: length) {
    cutText(UnsafeBufferPointer(start: $0, count: length), to: room)
  }
}

func cutText(
  _ text: UnsafeBufferPointer<UInt8>, to room: UnsafeMutableRawBufferPointer
) {
  var length = text.count
  if length >= room.count {
    length = room.count - 1
    // Not in the middle of a character: its further bytes begin with the bits 10.
    while length > 0 && text[length] & 0xC0 == 0x80 { length -= 1 }
  }
  room.copyMemory(from: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[..<length]))
  room[length] = 0
}
