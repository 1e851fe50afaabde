import Inturn

/// Atomic changes.
extension ConcurrentKVO {
  /// Changes the value with a function of the present one, and returns the function's result.
  ///
  /// The function is called without a lock and may use the library, and read this value. It is
  /// called again if another change came in between, so it should have no effect but on its
  /// argument. If it throws, nothing changes.
  ///
  /// A change that the function itself makes of this value comes in between, too. If it makes one
  /// each time, the program stops after 1,000 calls, as there would be no end.
  @inlinable
  public func modify<Result, Failure: Error>(
    _ body: (inout T) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    for _ in 0..<1000 {
      var (value, number) = trail.snapshot
      let result = try body(&value)
      if replace(value, ifNumber: number) { return result }
    }
    // Others have been faster each time, or the function itself.
    while true {
      var (value, number) = trail.snapshot
      trail.beginWatch()
      let result: Result
      do {
        defer { trail.endWatch() }
        result = try body(&value)
      }
      if replace(value, ifNumber: number) { return result }
    }
  }

  /// Changes the value and returns the old one.
  @inlinable
  public func exchange(_ new: T) -> T {
    if setsSynchronously { return trail.exchange(new) }
    let (old, isToBeDelivered) = trail.stage(new)
    if isToBeDelivered { deliverLater() }
    return old
  }

  /// Changes the value if it still has this number.
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

  /// Makes a worker tell the staged changes.
  @usableFromInline
  func deliverLater() {
    let trail = trail
    if !later.enqueue({ trail.deliver() }) { trail.deliver() }
  }
}

extension ConcurrentKVO where T: Equatable {
  /// Changes the value if it equals `expected`. Returns whether it did, and the original value.
  @inlinable
  public func compareExchange(expected: T, desired: T) -> (exchanged: Bool, original: T) {
    while true {
      let (value, number) = trail.snapshot
      if value != expected { return (false, value) }
      if replace(desired, ifNumber: number) { return (true, value) }
    }
  }
}
