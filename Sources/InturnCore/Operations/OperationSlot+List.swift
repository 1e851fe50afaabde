/// Lists of slots, linked by `link` and `previous`: a lane's running operations, and its blocked
/// ones. The lane's lock protects them. An index of zero stands for none.
extension UnsafeMutablePointer<OperationSlot> {
  @inline(__always)
  init?(at index: UInt32) {
    if index == 0 { return nil }
    self = Engine.current.pointee.operations.pointer(at: index).unsafelyUnwrapped
  }

  /// The next one in its list.
  var next: Self? { Self(at: pointee.link) }

  /// Puts it between two neighbours, of which at least one is none.
  @inline(__always)
  func link(after previous: UInt32, before next: UInt32) {
    pointee.previous = previous
    pointee.link = next
    Self(at: previous)?.pointee.link = pointee.index
    Self(at: next)?.pointee.previous = pointee.index
  }

  /// Takes it out of its list, from between these neighbours.
  @inline(__always)
  func unlink() -> (previous: UInt32, next: UInt32) {
    let (previous, next) = (pointee.previous, pointee.link)
    Self(at: previous)?.pointee.link = next
    Self(at: next)?.pointee.previous = previous
    return (previous, next)
  }

  /// Calls `body` with each one of a list, which may then leave it, until it returns false. False
  /// when it has.
  @inline(__always)
  static func forEach(from first: UInt32, _ body: (Self) -> Bool) -> Bool {
    // Asked for once: it is an atomic load.
    let engine = Engine.current
    var index = first
    while index != 0 {
      let slot = engine.pointee.operations.pointer(at: index).unsafelyUnwrapped
      index = slot.pointee.link
      if !body(slot) { return false }
    }
    return true
  }
}
