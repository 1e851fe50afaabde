/// The contents of a value of the C API. The numbers of the types are those of `inturn_datum_type`.
package enum RawValue {
  package enum Kind: UInt32 {
    case integer = 1
    case double, boolean, string, bytes, pointer, progress
  }

  case integer(Int64)
  case double(Double)
  case boolean(Bool)
  case string(RawBytes)
  case bytes(RawBytes)
  case pointer(RawPointer)
  case progress(Progress)

  package var kind: Kind {
    switch self {
    case .integer: .integer
    case .double: .double
    case .boolean: .boolean
    case .string: .string
    case .bytes: .bytes
    case .pointer: .pointer
    case .progress: .progress
    }
  }

  /// Whether both are identical: numbers bit for bit, strings and bytes byte for byte, pointers by
  /// their addresses.
  package func isIdentical(to other: RawValue) -> Bool {
    switch (self, other) {
    case (.integer(let one), .integer(let two)): one == two
    case (.double(let one), .double(let two)): one.bitPattern == two.bitPattern
    case (.boolean(let one), .boolean(let two)): one == two
    case (.string(let one), .string(let two)), (.bytes(let one), .bytes(let two)):
      one.isIdentical(to: two)
    case (.pointer(let one), .pointer(let two)): one.address == two.address
    case (.progress(let one), .progress(let two)): one == two
    default: false
    }
  }

  /// Returns to the caller what was meant for a value but was not taken.
  package func disown() {
    if case .pointer(let pointer) = self { pointer.disown() }
  }

  /// The object that keeps the referenced memory alive.
  package var owner: AnyObject? {
    switch self {
    case .integer, .double, .boolean, .progress: nil
    case .string(let bytes), .bytes(let bytes): bytes
    case .pointer(let pointer): pointer
    }
  }
}

/// Immutable bytes, followed by a zero.
package final class RawBytes: @unchecked Sendable {
  // Safe to share: nothing changes.

  package let start: UnsafeRawPointer
  package let count: Int

  /// Copies bytes. Nil when memory runs out.
  package init?(copying source: UnsafeRawPointer?, count: Int) {
    let (size, isTooLarge) = count.addingReportingOverflow(1)
    guard count >= 0, !isTooLarge, let memory = malloc(size) else { return nil }
    if let source, count > 0 { memory.copyMemory(from: source, byteCount: count) }
    memory.storeBytes(of: 0, toByteOffset: count, as: UInt8.self)
    start = UnsafeRawPointer(memory)
    self.count = count
  }

  deinit { free(UnsafeMutableRawPointer(mutating: start)) }

  func isIdentical(to other: RawBytes) -> Bool {
    self === other || count == other.count && memcmp(start, other.start, count) == 0
  }
}

/// A pointer of the user's, and how to release it.
package final class RawPointer: @unchecked Sendable {
  // Safe to share: nothing changes, and the header says that the function may be called anywhere.

  package let address: UnsafeMutableRawPointer?
  private let retains: Bool
  /// Changed only by whoever has created it, before it is shared.
  private var release: RawDestroy?

  package init(_ address: UnsafeMutableRawPointer?, _ references: ReferenceFunctions) {
    self.address = address
    retains = references.retain != nil
    release = references.release
    references.retain?(address)
  }

  /// A pointer that no value has taken stays the caller's, unless it was retained.
  fileprivate func disown() {
    if !retains { release = nil }
  }

  /// With the last value, change and datum that refers to it. No lock is held then.
  deinit { release?(address) }
}

/// How a value retains and releases the pointers that it holds.
package struct ReferenceFunctions: Sendable {
  let retain: RawDestroy?
  let release: RawDestroy?

  package init(retain: RawDestroy? = nil, release: RawDestroy? = nil) {
    self.retain = retain
    self.release = release
  }
}
