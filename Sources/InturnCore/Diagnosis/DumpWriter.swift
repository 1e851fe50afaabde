import CInturnSystem

/// Writes text to a descriptor, buffered in a little memory of the caller's. After a failed write,
/// nothing more is written.
struct DumpWriter {
  private let descriptor: Int32
  private let memory: UnsafeMutableRawBufferPointer
  private var count = 0
  private(set) var hasFailed = false

  init(_ descriptor: Int32, _ memory: UnsafeMutableRawBufferPointer) {
    self.descriptor = descriptor
    self.memory = memory
  }

  mutating func flush() {
    if !hasFailed, let start = memory.baseAddress {
      let bytes = start.assumingMemoryBound(to: CChar.self)
      hasFailed = !inturn_system_write(descriptor, bytes, UInt(count))
    }
    count = 0
  }

  private mutating func put(_ byte: UInt8) {
    if count == memory.count { flush() }
    memory[count] = byte
    count += 1
  }

  mutating func write(_ text: StaticString) {
    for byte in UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount) {
      put(byte)
    }
  }

  mutating func write(_ text: UnsafePointer<CChar>) {
    var next = text
    while next.pointee != 0 {
      put(UInt8(bitPattern: next.pointee))
      next += 1
    }
  }

  mutating func write(_ number: UInt64, radix: UInt64 = 10) {
    if number >= radix { write(number / radix, radix: radix) }
    put(digit(number % radix))
  }

  mutating func write(_ number: Int64) {
    if number < 0 { put(UInt8(ascii: "-")) }
    write(UInt64(number.magnitude))
  }

  /// Writes a handle as text, as it may be too large for a number in JSON.
  mutating func write(_ handle: Handle) {
    write("0x")
    write(handle.bits, radix: 16)
  }

  /// Writes a quoted string: as JSON that may stand in a page's script, or else for people and DOT,
  /// which knows few escapes.
  mutating func writeQuoted(_ text: UnsafePointer<CChar>, forScript: Bool = true) {
    put(UInt8(ascii: "\""))
    writeEscaped(text, forScript: forScript)
    put(UInt8(ascii: "\""))
  }

  /// What is between the quotes.
  mutating func writeEscaped(_ text: UnsafePointer<CChar>, forScript: Bool) {
    var next = text
    while next.pointee != 0 {
      let byte = UInt8(bitPattern: next.pointee)
      let length = Int(inturn_system_character(next))
      let isControl = inturn_system_is_control(next)
      if length == 0 {
        write("\u{fffd}")
      } else if isControl && !forScript {
        put(UInt8(ascii: " "))
      } else if forScript && (isControl || byte == UInt8(ascii: "<")) {
        // The last byte of those that have two is the character's number.
        let number = UInt64(UInt8(bitPattern: next[length - 1]))
        write("\\u00")
        put(digit(number >> 4))
        put(digit(number & 15))
      } else {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { put(UInt8(ascii: "\\")) }
        for place in 0..<length { put(UInt8(bitPattern: next[place])) }
      }
      next += max(length, 1)
    }
  }

  mutating func writeQuoted(_ label: SnapshotEntry.Label, forScript: Bool = true) {
    withUnsafeBytes(of: label) {
      // The label ends with a zero.
      let text = $0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)
      writeQuoted(text, forScript: forScript)
    }
  }

  private func digit(_ value: UInt64) -> UInt8 {
    UInt8(value) + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
  }
}
