extension String {
  /// The same with a space for each control character, such as the end of a line.
  var inOneLine: String {
    var line = UnicodeScalarView()
    for scalar in unicodeScalars {
      let isControl = scalar.value < 0x20 || 0x7f..<0xa0 ~= scalar.value
      line.append(isControl ? " " : scalar)
    }
    return String(line)
  }
}
