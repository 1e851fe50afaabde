import Synchronization

/// Taking changes from a mailbox, and waiting for one.
extension Trail {
  /// The next entry in the mailbox of a consumer that pulls. After `nothing`, its `post` says when
  /// there is something; after `end`, the observation is over.
  package func pull(_ id: UInt64) -> TrailMachine<Value>.Pull {
    lock.lock()
    let pulled = machine.pull(id)
    let spent = machine.takeSpent()
    lock.unlockAfterReadingObject()
    return withExtendedLifetime(spent) { pulled }
  }

  /// Waits until the predicate accepts the value: the present one, or that of a later change, none
  /// of which is skipped. The predicate is called on this thread.
  ///
  /// `stale`: the trail was closed. `closed`: the value will not change any more. A time-out of
  /// zero only checks the present value.
  package func wait<Failure: Error>(
    timeoutNanoseconds: Int64, until predicate: (Value) throws(Failure) -> Bool
  ) throws(Failure) -> (Status, Value?) {
    var manner = TrailManner()
    manner.hasMailbox = true
    manner.isPulled = true
    let port = WaitPort()
    let observer = TrailObserver<Value>(call: { _ in }) { _, _ in
      port.signal()
      return true
    }
    guard let (id, value, _) = observe(manner, observer) else { return (.stale, nil) }
    defer { _ = cancel(id, timeoutNanoseconds: 0) }
    if try predicate(value) { return (.ok, value) }
    if timeoutNanoseconds == 0 { return (.timedOut, nil) }
    guard let entry = WaitGraph.enter(.observers(of: self, .mail)) else { return (.deadlock, nil) }
    defer { WaitGraph.leave(entry) }
    // Delivering what was staged may be up to this thread, further up its stack.
    deliver()
    let limit = WaitLimit(timeoutNanoseconds: timeoutNanoseconds)
    while true {
      let seen = port.signals
      switch pull(id) {
      case .entry(let entry): if try predicate(entry.new) { return (.ok, entry.new) }
      case .end: return (isClosed ? .stale : .closed, nil)
      case .nothing:
        guard let rest = limit.remaining else { return (.timedOut, nil) }
        port.sleep(while: seen, timeoutNanoseconds: rest)
      }
    }
  }
}

/// Where a thread sleeps until somebody signals.
final class WaitPort: @unchecked Sendable {
  // Safe to share: its contents are atomic.

  /// Counts signals. What happened before a signal is visible after it.
  private let count = WakeWord.make()

  deinit { count.deallocate() }

  var signals: UInt32 { count.pointee.load(ordering: .acquiring) }

  func signal() { count.advance() }

  func sleep(while seen: UInt32, timeoutNanoseconds: Int64) {
    count.waitUntilExit(while: seen, timeoutNanoseconds: timeoutNanoseconds)
  }
}
