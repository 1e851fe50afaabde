import Synchronization

/// Waiting for a lane to be quiet, and reading its counts.
extension UnsafeMutablePointer<Lane> {
  /// Waits until the queue has nothing left to do. On a time-out, `left` is called with what
  /// remains, as by `listLocked`.
  func waitUntilQuiet(
    generation: UInt32, timeoutNanoseconds: Int64, left: (OperationInfo) -> Bool
  ) -> Status {
    pointee.lock.lock()
    if let refusal = refusalLocked(generation) { return refusal }
    if isQuiet || timeoutNanoseconds == 0 {
      let status: Status = isQuiet ? .ok : .timedOut
      if status != .ok { listLocked(left) }
      pointee.lock.unlock()
      return status
    }
    // Keeps the lane from being freed while the lock is released.
    let extra = needExtra()
    extra.pointee.quiet.waiters += 1
    pointee.lock.unlock()
    let entry = WaitGraph.enter(.queue(self))
    pointee.lock.lock()
    let status =
      entry == nil ? .deadlock : sleepUntilQuietLocked(generation, timeoutNanoseconds)
    extra.pointee.quiet.waiters -= 1
    if status == .timedOut { listLocked(left) }
    unlock()
    if let entry { WaitGraph.leave(entry) }
    return status
  }

  private func sleepUntilQuietLocked(_ generation: UInt32, _ timeoutNanoseconds: Int64) -> Status {
    let limit = WaitLimit(timeoutNanoseconds: timeoutNanoseconds)
    while true {
      if pointee.generation != generation { return .stale }
      if isQuiet { return .ok }
      guard let rest = limit.remaining else { return .timedOut }
      sleepLocked(rest)
    }
  }

  /// Sleeps until the lane may be quiet, or not in use. Releases the lock meanwhile.
  func sleepLocked(_ timeoutNanoseconds: Int64) {
    let wakeups = pointee.extra!.wakeups
    pointee.machine.flags.insert(.waitedFor)
    let seen = wakeups.pointee.load(ordering: .relaxed)
    pointee.lock.unlock()
    wakeups.waitUntilExit(while: seen, timeoutNanoseconds: timeoutNanoseconds)
    pointee.lock.lock()
  }

  var statisticsLocked: QueueStatistics {
    var result = QueueStatistics()
    // Stops the burst, so that the gate stays where it is counted.
    stopBurstLocked()
    result.pending = waitingCountLocked
    result.nextStart = nextStartLocked
    result.finished = pointee.finished
    if let extra = pointee.extra { result.ends = extra.pointee.ends }
    result.running = UInt64(pointee.machine.running - result.ends.keepingPlaces)
    // The operation that was started last may have ended before its queue noticed. An operation
    // that a burst has started counts as finished until it turns out otherwise.
    if let slot = firstRunningSlot, !slot.pointee.flags.contains(.counted) {
      let word = slot.loadWord()
      let isOfBurst = isGateOfBurstLocked(slot)
      if word.isEnded { result.running -= 1 }
      if isOfBurst && !word.isEnded { result.finished -= 1 }
      if !isOfBurst && word.isEnded, let outcome = word.outcome {
        result.ends.add(outcome)
        if outcome == .finished { result.finished += 1 }
      }
    }
    result.suspends = pointee.extra?.pointee.suspensions.count ?? 0
    return result
  }

  /// Calls `body` with each operation that has not ended, running ones first, until it returns
  /// false.
  func listLocked(_ body: (OperationInfo) -> Bool) {
    // The drainer waits for the lock meanwhile, so that no operation is listed twice.
    stopBurstLocked()
    var goesOn = true
    forEachRunningLocked(while: goesOn) { slot in
      let word = slot.loadWord()
      if !word.isEnded { goesOn = body(slot.info(word, .running)) }
    }
    if !goesOn { return }
    goesOn = forEachPendingLocked { job in
      guard let slot = job.slot else {
        return job.isTakenOut || body(OperationInfo(state: .pending))
      }
      let word = slot.loadWord()
      return word.contains(.claimed) || word.contains(.segment) || body(slot.info(word, .pending))
    }
    var next = goesOn ? pointee.extra?.pointee.graphs.first : nil
    while let graph = next {
      for _ in 0..<graph.pointee.held where !body(OperationInfo(state: .pending)) { return }
      next = graph.pointee.next
    }
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  fileprivate func info(_ word: OperationWord, _ state: OperationState) -> OperationInfo {
    OperationInfo(
      state: state, isCancelled: word.contains(.cancelRequested), label: label,
      enqueuedAt: pointee.enqueuedAt, startedAt: pointee.startedAt)
  }
}

/// Counts of one queue; see `inturn_queue_statistics`.
package struct QueueStatistics {
  package var suspends: UInt32 = 0
  package var pending: UInt64 = 0
  package var running: UInt64 = 0
  package var finished: UInt64 = 0
  package var ends = EndCounts()
  /// The moment before which nothing starts; 0 for none.
  package var nextStart: Int64 = 0
}

/// One operation that has not ended; see `inturn_operation_info`.
package struct OperationInfo {
  package var state: OperationState
  package var isCancelled = false
  /// Valid only during the call.
  package var label: UnsafePointer<CChar>?
  package var enqueuedAt: Int64 = 0
  package var startedAt: Int64 = 0
}
