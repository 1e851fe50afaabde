import Testing

@testable import InturnCore

@Suite struct TextTests {
  private func string(_ text: Text) -> String { text.withCString { String(cString: $0) } }

  @Test func `a text has the bytes of its literal, string or number`() {
    #expect(string("müde 🥱") == "müde 🥱")
    #expect(string(Text(cString: "plain")) == "plain")
    #expect(string(Text("begin(_:at:)", until: "(")) == "begin")
    #expect(string(Text("begin", until: "(")) == "begin")
    for number in [0, 9, 10, 1_234_567_890, UInt64.max] {
      #expect(string(Text(number)) == String(number))
    }
  }

  @Test func `texts are put together`() {
    var text: Text = ""
    #expect(text.isEmpty && text.length == 0)
    text.add("one")
    text.add("")
    text.add(" " + Text(2))
    #expect(string(text) == "one 2")
    #expect(text.length == 5 && !text.isEmpty)
  }

  @Test func `texts are the same, and end with one another, by their bytes`() {
    #expect(Text("é") == "é" && Text("e\u{301}") != "é" && Text("a") != "ab" && Text("ab") != "a")
    #expect(Text("save (a.c:1)").ends(with: "(a.c:1)") && Text("a").ends(with: ""))
    #expect(!Text("a").ends(with: "ba") && !Text("ab").ends(with: "a"))
  }

  @Test func `what is not UTF-8 is shown as such`() {
    let bytes: [CChar] = [0x61, CChar(bitPattern: 0xff), 0x0a, CChar(bitPattern: 0xc3), 0]
    #expect(string(Text(cString: bytes).inOneLine) == "a\u{fffd} \u{fffd}")
  }
}
