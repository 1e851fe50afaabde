import Synchronization

/// Waiting for a batch, and what that waits for.
extension Batch {
  /// Waits until the batch has ended and its completion has returned.
  package func wait(timeoutNanoseconds: Int64) -> Status {
    if isCompleteNow { return .ok }
    if timeoutNanoseconds == 0 { return .timedOut }
    let lane = Engine.current.pointee.lanes.pointer(at: queue.index)!
    guard let entry = WaitGraph.enter(.queue(lane), of: self) else {
      return isCompleteNow ? .ok : .deadlock
    }
    setAwaited()
    defer { WaitGraph.leave(entry) }
    let limit = WaitLimit(timeoutNanoseconds: timeoutNanoseconds)
    while true {
      // Loaded before the check, so that no wake-up is missed.
      let seen = wakeups.pointee.load(ordering: .acquiring)
      if isCompleteNow { return .ok }
      guard let rest = limit.remaining else { return .timedOut }
      wakeups.waitUntilExit(while: seen, timeoutNanoseconds: rest)
    }
  }

  var isAwaited: Bool { hasWaiter.load(ordering: .relaxed) }

  func setAwaited() { hasWaiter.store(true, ordering: .relaxed) }

  /// What has to end before the batch is complete.
  struct Rest {
    /// Operations that have been started, and those that have slots and have not; each with a
    /// reference.
    var started: [OperationSlot.Pointer] = []
    var pending: [OperationSlot.Pointer] = []
    /// Some have no slots, and wait.
    var hasJobs = false
    /// The thread that is calling the completion; zero for none.
    var completer: UInt = 0
  }

  /// What has to end, of the last so many operations. Nil if it is complete.
  @inline(never)
  func rest(looks: Int) -> Rest? {
    var rest = Rest()
    Engine.withUse(of: self) { rest.completer = $0.completer }
    lock.lock()
    defer { lock.unlock() }
    if isComplete { return nil }
    // One without operations has a job that waits for its turn.
    rest.hasJobs = count == 0
    for entry in entries + max(0, count - looks)..<entries + count where entry.pointee.end == nil {
      let own = entry.pointee.slot
      own?.addReference()
      if let slot = own ?? entry.running?.0 {
        if slot.loadWord().isPending {
          rest.pending.append(slot)
        } else {
          rest.started.append(slot)
        }
      } else if entry.pointee.token.load(ordering: .relaxed) == 0 {
        rest.hasJobs = true
      }
    }
    return rest
  }
}
