import CInturnSystem
import Foundation
import Testing

@testable import InturnCore

@Suite struct BytesTests {
  @Test func `the same bytes are one name, wherever they are`() {
    for text in ["", "a", "fifteen bytes!!", "more than sixteen bytes", "\u{e9}", "日本語"] {
      let (one, other) = (KeptText(text), KeptText(text))
      defer { withExtendedLifetime((one, other)) {} }
      #expect(one.bytes.text != other.bytes.text)
      #expect(one.bytes == other.bytes)
      #expect(HashedBytes(one.bytes) == HashedBytes(other.bytes))
      #expect(one.bytes.byteCount == text.utf8.count + 1)
    }
  }

  @Test func `other bytes are another name, also where the characters are the same`() {
    let spellings = ["\u{e9}", "e\u{301}"]
    #expect(spellings[0] == spellings[1])
    #expect(!isSame(spellings[0], spellings[1]))
    #expect(countOfNames(spellings) == 2)
    #expect(countOfNames(["a", "b", "a"]) == 2)
    #expect(!isSame("a", "ab"))
  }

  @Test func `a name's line goes on when who came first is gone, and its text`() {
    let registry = NameRegistry()
    let size = 3 * MemoryLayout<OperationSlot>.stride
    let memory = calloc(1, size)!
    defer { free(memory) }
    let slots = (0..<3).map { memory.assumingMemoryBound(to: OperationSlot.self) + $0 }
    let (first, second, third) = (makeClaims(["a"]), makeClaims(["a"]), makeClaims(["a"]))
    defer { for claims in [second, third] { claims.deallocate() } }
    #expect(registry.claim(first, for: slots[0]))
    #expect(!registry.claim(second, for: slots[1]))
    #expect(registry.release(first) == [slots[1]])
    first.deallocate()
    #expect(!registry.claim(third, for: slots[2]))
    #expect(registry.release(second) == [slots[2]])
    #expect(registry.release(third).isEmpty && registry.count == 0)
  }

  /// As `LayoutTests`, of what only the registry may change.
  @Test func `claims lie as they are read`() {
    let registry = NameRegistry()
    let memory = calloc(2, MemoryLayout<OperationSlot>.stride)!
    defer { free(memory) }
    let slots = (0..<2).map { memory.assumingMemoryBound(to: OperationSlot.self) + $0 }
    let (first, second) = (makeClaims(["a", "b"]), makeClaims(["b", "c", "a"]))
    defer { for claims in [first, second] { claims.deallocate() } }
    #expect(registry.claim(first, for: slots[0]) && !registry.claim(second, for: slots[1]))
    second.pointee.isMade = true
    func bits(_ pointer: UnsafeRawPointer?) -> UInt64 { UInt64(UInt(bitPattern: pointer)) }
    let read = UnsafeRawPointer(second).load(as: inturn_layout_claims.self)
    #expect(read.count == 3 && read.waiting_for == 2 && read.turn == 2 && read.is_made == 1)
    #expect(read.slot == bits(slots[1]) && read.edge == bits(second.pointee.edge))
    let place = UnsafeRawPointer(bitPattern: UInt(read.first))!
      .load(as: inturn_layout_name_place.self)
    #expect(place.name == bits(second.name(at: 0).text) && place.claims == bits(second))
    let before = UnsafeRawPointer(bitPattern: UInt(place.previous))!
      .load(as: inturn_layout_name_place.self)
    #expect(before.claims == bits(first) && before.next == read.first && before.line == place.line)
    #expect(registry.release(first) == [slots[1]] && registry.release(second).isEmpty)
  }

  private func isSame(_ left: String, _ right: String) -> Bool {
    left.withCString { left in right.withCString { Bytes(left) == Bytes($0) } }
  }

  /// The caller frees them.
  private func makeClaims(_ names: [String]) -> NameClaims.Pointer {
    let texts = names.map { KeptText($0) }
    return withExtendedLifetime(texts) {
      texts.map(\.bytes.text).withUnsafeBufferPointer { names in
        let memory = UnsafeMutableRawPointer.allocate(
          byteCount: NameClaims.byteCount(of: names), alignment: 8)
        return NameClaims.Pointer(names, at: memory)
      }
    }
  }

  /// How many different names an operation with these has.
  private func countOfNames(_ names: [String]) -> Int {
    let registry = NameRegistry()
    let slot = UnsafeMutablePointer<OperationSlot>(bitPattern: 64)!
    let claims = makeClaims(names)
    #expect(registry.claim(claims, for: slot))
    defer {
      #expect(registry.release(claims).isEmpty && registry.count == 0)
      claims.deallocate()
    }
    return registry.count
  }

  @Test
  func `a label in a report has a space in place of each control character, and no other change`() {
    for code in UInt32(1)..<0x3000 {
      let scalar = Unicode.Scalar(code).unsafelyUnwrapped
      let shown = scalar.properties.generalCategory == .control ? " " : scalar
      let quoted = Report.quoted(Text(cString: "a\(scalar)b")).withCString { String(cString: $0) }
      #expect(Array(quoted.unicodeScalars) == ["\"", "a", shown, "b", "\""])
    }
  }
}

/// A text's bytes, for as long as this object lives.
final class KeptText {
  private let memory: UnsafeMutablePointer<CChar>

  init(_ text: String) { memory = strdup(text) }

  deinit { free(memory) }

  var bytes: Bytes { Bytes(UnsafePointer(memory)) }
}
