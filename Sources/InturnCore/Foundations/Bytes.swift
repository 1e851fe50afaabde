/// A name or a key: equal to what has the same bytes. (Strings are equal also where Unicode has
/// several spellings of a character; its tables would make the library a tenth larger.)
struct Bytes: Hashable {
  let text: String

  init(_ text: String) {
    var text = text
    text.makeContiguousUTF8()
    self.text = text
  }

  static func == (left: Bytes, right: Bytes) -> Bool {
    left.withBytes { left in right.withBytes { left.elementsEqual($0) } }
  }

  func hash(into hasher: inout Hasher) {
    withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
  }

  private func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    text.utf8.withContiguousStorageIfAvailable(body).unsafelyUnwrapped
  }
}
