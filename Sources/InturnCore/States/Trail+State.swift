/// The result of staging a change.
enum TrailStaging {
  /// The trail is closed: nobody uses it any more.
  case closed
  /// Nobody observes it.
  case untold
  /// `deliver` is due.
  case staged
}

/// What a trail needs to show a state; see `StateTrail`.
extension Trail {
  /// Whether its owner has closed it.
  var isClosed: Bool { lock.withLock { machine.isClosed } }

  /// Sets the initial value, before anybody else knows the trail.
  func assume(_ value: Value) {
    lock.lock()
    let before = replaceLocked(value)
    machine.number = 0
    lock.unlock()
    withExtendedLifetime(before) {}
  }

  /// Changes the value inside `withLocks`. Dropping the old value must not call anything.
  func stageLocked(_ new: Value) -> TrailStaging {
    if machine.isClosed { return .closed }
    let old = replaceLocked(new)
    if machine.places.isEmpty { return .untold }
    let depth = TrailCall.depth(in: self) &+ 1
    machine.postpone(TrailEntry(number: machine.number, depth: depth, old: old, new: new))
    return .staged
  }

  /// There will be no more changes: observations end after the remaining ones have been told, and
  /// so do waits. The value can still be read, and observed as it is.
  package func finish() {
    lock.lock()
    machine.isFinal = true
    unlockSweeping()
  }
}
