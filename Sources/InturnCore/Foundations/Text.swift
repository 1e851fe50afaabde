import CInturnSystem

/// Text for people, such as a message or a label: bytes, with a zero at the end.
///
/// (Swift's strings know Unicode, with code and tables that would make the library larger by a
/// thirtieth.)
@usableFromInline
package struct Text: ExpressibleByStringLiteral, Equatable, Sendable {
  private var bytes: [CChar]

  @inline(never)
  private init(_ start: UnsafeRawPointer, count: Int) {
    bytes = Array(unsafeUninitializedCapacity: count + 1) { room, initialized in
      memcpy(room.baseAddress.unsafelyUnwrapped, start, count)
      room[count] = 0
      initialized = count + 1
    }
  }

  @usableFromInline
  package init(stringLiteral text: StaticString) {
    self.init(text.utf8Start, count: text.utf8CodeUnitCount)
  }

  /// Up to this byte, if it is there.
  package init(_ text: StaticString, until end: Unicode.Scalar) {
    let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    let count = bytes.firstIndex(of: UInt8(ascii: end)) ?? bytes.count
    self.init(text.utf8Start, count: count)
  }

  package init(cString text: UnsafePointer<CChar>) { self.init(text, count: Int(strlen(text))) }

  /// A number that is not negative.
  package init(_ number: some BinaryInteger) {
    self.init(digitsOf: UInt64(truncatingIfNeeded: number))
  }

  @inline(never)
  private init(digitsOf number: UInt64) {
    bytes = [CChar(truncatingIfNeeded: 0x30 + number % 10), 0]
    var rest = number / 10
    while rest > 0 {
      bytes.insert(CChar(truncatingIfNeeded: 0x30 + rest % 10), at: 0)
      rest /= 10
    }
  }

  package var isEmpty: Bool { length == 0 }

  package func withCString<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    bytes.withUnsafeBufferPointer { body($0.baseAddress.unsafelyUnwrapped) }
  }

  /// How many bytes it has.
  var length: Int { bytes.count - 1 }

  @inline(never)
  package mutating func add(_ text: Text) {
    bytes.removeLast()
    bytes += text.bytes
  }

  @inline(never)
  package static func + (left: Text, right: Text) -> Text {
    var sum = left
    sum.add(right)
    return sum
  }

  /// Whether it ends with the same bytes.
  @inline(never)
  func ends(with end: Text) -> Bool {
    let before = bytes.count - end.bytes.count
    return before >= 0
      && withCString { all in end.withCString { strcmp(all + before, $0) == 0 } }
  }

  @usableFromInline @inline(never)
  package static func == (left: Text, right: Text) -> Bool {
    left.length == right.length && left.ends(with: right)
  }

  private static var notUTF8: Text { "\u{fffd}" }

  /// The same with each control character, such as a line feed, replaced by a space, and with each byte
  /// that is not UTF-8 by the character for that.
  package var inOneLine: Text {
    @inline(never) get {
      var line: Text = ""
      line.bytes.removeLast()
      withCString { text in
        var next = text
        while next.pointee != 0 {
          let length = Int(inturn_system_character(next))
          if length == 0 {
            line.bytes += Self.notUTF8.bytes.dropLast()
          } else if inturn_system_is_control(next) {
            line.bytes.append(0x20)
          } else {
            line.bytes += UnsafeBufferPointer(start: next, count: length)
          }
          next += max(length, 1)
        }
      }
      line.bytes.append(0)
      return line
    }
  }
}
