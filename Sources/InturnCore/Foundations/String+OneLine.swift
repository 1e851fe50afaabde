extension String {
  /// The string with each control character, such as a line feed, replaced by a space.
  package var inOneLine: String {
    var line = UnicodeScalarView()
    for scalar in unicodeScalars {
      let isControl = scalar.value < 0x20 || 0x7f..<0xa0 ~= scalar.value
      line.append(isControl ? " " : scalar)
    }
    return String(line)
  }

  /// Appends a text. Messages are put together of many; `+=` is much code in each place.
  @inline(never)
  mutating func add(_ text: String) { self += text }
}
