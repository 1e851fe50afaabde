import Inturn

/// Atomic changes.
extension ConcurrentKVO {
  /// Changes the value by a function of what it was, and gives what that returns.
  ///
  /// The function is called without a lock, and may use the library, this value included. It is
  /// called again when another change came between, so it has no effect but on its argument. When
  /// it throws, nothing changes.
  @inlinable
  public func modify<Result, Failure: Error>(
    _ body: (inout T) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    while true {
      var (value, number) = trail.snapshot
      let result = try body(&value)
      if replace(value, ifNumber: number) { return result }
    }
  }

  /// Changes the value, and gives the old one.
  @inlinable
  public func exchange(_ new: T) -> T {
    if setsSynchronously { return trail.exchange(new) }
    let (old, isToBeDelivered) = trail.stage(new)
    if isToBeDelivered { deliverLater() }
    return old
  }

  /// Changes the value unless it has been changed since it had this number.
  @inlinable
  func replace(_ new: T, ifNumber number: UInt64) -> Bool {
    switch trail.replace(new, ifNumber: number, delivers: setsSynchronously) {
    case .failed: return false
    case .staged: deliverLater()
    case .done: break
    }
    return true
  }

  @usableFromInline
  func setLater(_ new: T) {
    let (old, isToBeDelivered) = trail.stage(new)
    if isToBeDelivered { deliverLater() }
    withExtendedLifetime(old) {}
  }

  /// Has a worker tell of what was staged.
  @usableFromInline
  func deliverLater() {
    let trail = trail
    if !later.enqueue({ trail.deliver() }) { trail.deliver() }
  }
}

extension ConcurrentKVO where T: Equatable {
  /// Changes the value if it equals `expected`. Gives whether it did, and what the value was.
  @inlinable
  public func compareExchange(expected: T, desired: T) -> (exchanged: Bool, original: T) {
    while true {
      let (value, number) = trail.snapshot
      if value != expected { return (false, value) }
      if replace(desired, ifNumber: number) { return (true, value) }
    }
  }
}
