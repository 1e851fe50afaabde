/// An operation's function and the line that enqueued it, in one word: a function's address takes
/// 48 bits on all systems, and the upper 16 hold the line's number.
struct Work {
  private let bits: UInt

  static var none: Work { Work(bits: 0) }

  @inline(__always)
  private init(bits: UInt) { self.bits = bits }

  /// Nil for a null pointer, or an address that no function can have.
  @inline(__always)
  init?(_ function: RawWork?, at site: Site) {
    let address = unsafeBitCast(function, to: UInt.self)
    if (address &- 1) >> 48 != 0 { return nil }
    bits = address | UInt(site.bits) << 48
  }

  /// The same for a pointer that is known to be a function.
  @inline(__always)
  init(known function: RawWork, at site: Site) {
    bits = unsafeBitCast(function, to: UInt.self) | UInt(site.bits) << 48
  }

  /// True for a job with a slot, and for a job that is gone.
  @inline(__always)
  var isNone: Bool { bits == 0 }

  @inline(__always)
  var address: UInt { bits & 0xFFFF_FFFF_FFFF }

  @inline(__always)
  func call(_ context: UnsafeMutableRawPointer?, _ token: UInt64) {
    unsafeBitCast(address, to: RawWork.self)(context, token)
  }

  var site: Site { Site(bits: UInt32(truncatingIfNeeded: bits >> 48)) }
}
