#if canImport(Darwin)
  @_exported import Darwin
#elseif canImport(Musl)
  @_exported import Musl
#else
  @_exported import Glibc
#endif

extension UnsafePointer<CChar> {
  /// A copy of the text, to be deallocated.
  func copied() -> UnsafeMutablePointer<CChar> {
    let size = strlen(self) + 1
    let copy = UnsafeMutablePointer<CChar>.allocate(capacity: size)
    memcpy(copy, self, size)
    return copy
  }
}
