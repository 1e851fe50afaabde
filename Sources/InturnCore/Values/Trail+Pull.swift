import Synchronization

/// Taking changes from a mailbox, and waiting for one.
extension Trail {
  /// What is next in the mailbox of somebody who pulls. After `nothing`, its `post` says when
  /// there is something; after `end`, the observation is over.
  package func pull(_ id: UInt64) -> TrailMachine<Value>.Pull {
    lock.lock()
    let pull = machine.pull(id)
    lock.unlockAfterReadingObject()
    return pull
  }

  /// Waits until the value is one that the predicate takes: the value as it is now, or that of a
  /// change from now on, none of which is left out. The predicate is called on this thread.
  ///
  /// `stale`: the trail was closed. `closed`: the value will not change any more. A timeout of zero
  /// asks about the value as it is now.
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
    // What was staged may be this thread's to deliver, further up its stack.
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
final class WaitPort: Sendable {
  /// Counts signals. Releasing and acquiring: what happened before a signal is seen after it.
  private let count = Address()

  /// An address that outlives every use of the port.
  private struct Address: @unchecked Sendable {
    // Safe to share: what is there is atomic.
    let pointer = UnsafeMutablePointer<Atomic<UInt32>>.allocate(capacity: 1)
  }

  init() { count.pointer.initialize(to: Atomic(0)) }

  deinit { count.pointer.deallocate() }

  var signals: UInt32 { count.pointer.pointee.load(ordering: .acquiring) }

  func signal() {
    count.pointer.pointee.wrappingAdd(1, ordering: .releasing)
    count.pointer.wakeAll()
  }

  func sleep(while seen: UInt32, timeoutNanoseconds: Int64) {
    count.pointer.wait(while: seen, timeoutNanoseconds: timeoutNanoseconds)
  }
}
