import Testing

@testable import InturnCore

@Suite struct BytesTests {
  @Test func `the same bytes are one name, however they are stored`() {
    for text in ["", "a", "fifteen bytes!!", "more than sixteen bytes", "\u{e9}", "日本語"] {
      let copy = String(decoding: Array(text.utf8), as: UTF8.self)
      let part = ("<" + text + ">").dropFirst().dropLast()
      #expect(Bytes(text) == Bytes(copy))
      #expect(Bytes(text) == Bytes(String(part)))
      #expect(Bytes(text).hashValue == Bytes(copy).hashValue)
    }
  }

  @Test func `other bytes are another name, also where the characters are the same`() {
    let spellings = ["\u{e9}", "e\u{301}"]
    #expect(spellings[0] == spellings[1])
    #expect(Set(spellings.map(Bytes.init)).count == 2)
    #expect(countOfNames(spellings) == 2)
    #expect(countOfNames(["a", "b", "a"]) == 2)
    #expect(Bytes("a") != Bytes("ab"))
    #expect(Bytes("") != Bytes("\0"))
  }

  /// How many names an operation with these has.
  private func countOfNames(_ names: [String]) -> Int {
    let registry = NameRegistry()
    let slot = UnsafeMutablePointer<OperationSlot>(bitPattern: 64)!
    let claims = NameClaims(names)
    #expect(registry.claim(claims, for: slot))
    defer { #expect(registry.release(claims).isEmpty && registry.count == 0) }
    return registry.count
  }

  @Test
  func `a label in a report has a space in place of each control character, and no other change`() {
    for code in UInt32(0)..<0x3000 {
      let scalar = Unicode.Scalar(code).unsafelyUnwrapped
      let shown = scalar.properties.generalCategory == .control ? " " : scalar
      #expect(
        Array(Report.quoted("a\(scalar)b").unicodeScalars) == ["\"", "a", shown, "b", "\""])
    }
  }
}
