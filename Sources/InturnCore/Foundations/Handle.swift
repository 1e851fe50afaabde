/// What a handle names.
package enum HandleKind: UInt8, CaseIterable {
  case queue = 1
  case operation, token, executor, clock
  case value = 7
  case observation
  case batch
  case owner
  case await
}

/// A 64-bit name: kind (4 bits), process epoch (4), index (26), generation (30).
///
/// The generation tells apart the objects that use one slot one after the other. In a handle it is
/// never zero, so no handle is all zero. A slot whose generation is used up is retired.
@usableFromInline
package struct Handle: Hashable, Sendable {
  package let bits: UInt64

  static let generationBits: UInt64 = 30
  static let maximumIndex = UInt32(1) << 26 - 1
  static let maximumGeneration = UInt32(1) << 30 - 1

  @inline(__always)
  package init(bits: UInt64) { self.bits = bits }

  @inline(__always)
  package init(_ kind: HandleKind, index: UInt32, generation: UInt32) {
    bits =
      Self.tag(kind) << 56 | UInt64(index) << Self.generationBits | UInt64(generation)
  }

  @inline(__always)
  package var index: UInt32 {
    UInt32(truncatingIfNeeded: bits >> Self.generationBits) & Self.maximumIndex
  }

  @inline(__always)
  package var generation: UInt32 { UInt32(truncatingIfNeeded: bits) & Self.maximumGeneration }

  /// The top byte of handles of this kind, as created in this process.
  @inline(__always)
  static func tag(_ kind: HandleKind) -> UInt64 {
    UInt64(kind.rawValue) << 4 | UInt64(ProcessState.epoch)
  }

  /// Whether two handles, of whatever kinds, name the same object.
  package func isOfSame(as other: Handle) -> Bool { (bits ^ other.bits) << 8 == 0 }

  @inline(__always)
  func isOf(_ kind: HandleKind) -> Bool { bits >> 56 == Self.tag(kind) }

  /// Why a handle is refused: it is of another kind than the call needs, or unknown to its slot.
  @inline(never)
  package func refusal(for kind: HandleKind) -> Status {
    if bits == 0 { return .nullHandle }
    guard let own = HandleKind(rawValue: UInt8(bits >> 60)), generation != 0 else { return .stale }
    let epoch = UInt8(bits >> 56 & 15)
    // A process without an engine has given out no handles.
    let floor = Engine.existing?.pointee.indexFloor ?? UInt32.max
    if epoch != ProcessState.epoch || index < floor {
      return ProcessState.wasForked && epoch != 0 ? .forked : .stale
    }
    return own == kind ? .stale : .wrongKind
  }
}
