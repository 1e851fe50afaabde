/// What a value of the C API holds. The numbers of the types are those of `inturn_datum_type`.
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

  /// Whether both hold the same: numbers the same bits, strings and bytes the same bytes, pointers
  /// the same address.
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

  /// Gives up what was to become a value's and has not, to the caller.
  package func disown() {
    if case .pointer(let pointer) = self { pointer.disown() }
  }

  /// What keeps the memory that this refers to.
  package var owner: AnyObject? {
    switch self {
    case .integer, .double, .boolean, .progress: nil
    case .string(let bytes), .bytes(let bytes): bytes
    case .pointer(let pointer): pointer
    }
  }
}

/// Bytes that never change, with a zero behind them.
package final class RawBytes: @unchecked Sendable {
  // Safe to share: nothing changes.

  package let start: UnsafeRawPointer
  package let count: Int

  /// A copy. Nil without memory.
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

/// A pointer of the user's, and how to give it back.
package final class RawPointer: @unchecked Sendable {
  // Safe to share: nothing changes, and the header says that the function may be called anywhere.

  package let address: UnsafeMutableRawPointer?
  private let retains: Bool
  /// Changed, if at all, by who has made it and has not shared it.
  private var release: RawDestroy?

  package init(_ address: UnsafeMutableRawPointer?, _ references: ReferenceFunctions) {
    self.address = address
    retains = references.retain != nil
    release = references.release
    references.retain?(address)
  }

  /// What has not become anybody's stays the caller's, unless it was retained.
  fileprivate func disown() {
    if !retains { release = nil }
  }

  /// With the last value, change and datum that refers to it. No lock is held there.
  deinit { release?(address) }
}

/// What a value does with the pointers that it holds.
package struct ReferenceFunctions: Sendable {
  let retain: RawDestroy?
  let release: RawDestroy?

  package init(retain: RawDestroy? = nil, release: RawDestroy? = nil) {
    self.retain = retain
    self.release = release
  }
}
