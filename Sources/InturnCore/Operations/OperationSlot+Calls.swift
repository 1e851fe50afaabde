import Synchronization

/// What holders of a handle or token ask an operation.
extension UnsafeMutablePointer<OperationSlot> {
  /// Waits until the operation has ended and its end has its place among the deliveries. The caller
  /// holds a reference.
  func waitForEnd(timeoutNanoseconds: Int64) -> Status {
    let status = waitForEndedFlag(timeoutNanoseconds: timeoutNanoseconds)
    var backoff = Backoff()
    // Only for the moment between setting `ended` and taking the lane's lock.
    while status == .ok && loadWord().contains(.returned) && !isCounted { backoff.pause() }
    return status
  }

  private var isCounted: Bool {
    let lane = self.lane
    return lane.pointee.lock.withLock { pointee.flags.contains(.counted) }
  }

  private func waitForEndedFlag(timeoutNanoseconds: Int64) -> Status {
    if loadWord().isEnded { return .ok }
    if timeoutNanoseconds == 0 { return .timedOut }
    guard var entry = WaitGraph.enter(.operation(self), spins: true) else {
      // It may have ended meanwhile, and its queue may be gone.
      return loadWord().isEnded ? .ok : .deadlock
    }
    defer { WaitGraph.leave(entry) }
    let limit = WaitLimit(timeoutNanoseconds: timeoutNanoseconds)
    var backoff = Backoff()
    while true {
      // Loaded before the word, so that no wake-up is missed.
      let seen = wakeups.pointee.load(ordering: .acquiring)
      if loadWord().isEnded { return .ok }
      if backoff.isShort {
        backoff.pause()
        continue
      }
      guard let rest = limit.remaining else { return .timedOut }
      if change({ $0.isEnded ? nil : $0.adding(.waitedFor) }) == nil { return .ok }
      entry.sleeps(.operation(self))
      wakeups.waitUntilExit(while: seen, timeoutNanoseconds: rest)
    }
  }

  /// Sets a flag that only reports read. `attempt` is the attempt's generation, if the operation was
  /// named by a token.
  func note(_ flag: OperationWord.Flags, attempt: UInt32? = nil) -> Status {
    let noted = change {
      $0.isEnded || $0.generation != attempt ?? $0.generation ? nil : $0.adding(flag)
    }
    return noted == nil ? .alreadyFinished : .ok
  }

  /// The lane, locked, while the end of this attempt is undecided. Otherwise nil, with nothing
  /// locked: the slot may then be another operation's, and its lane another queue's. The caller has
  /// found the slot by the attempt's token.
  func lockLane(ofAttempt generation: UInt32) -> Lane.Pointer? {
    let lane = self.lane
    lane.pointee.lock.lock()
    // Without `attention`, a gate goes on to its next operation without the lock.
    let word = set(.attention)
    // A generation belongs to a single lane.
    guard word.generation == generation, !word.contains(.claimed) else {
      lane.pointee.lock.unlock()
      return nil
    }
    return lane
  }

  /// The details, created if there are none, for callers that may change anything in them.
  func needDetailsLocked() -> UnsafeMutablePointer<OperationDetails> {
    if let details = pointee.details {
      details.pointee.isLean = false
      return details
    }
    let details = UnsafeMutablePointer<OperationDetails>.allocate(capacity: 1)
    details.initialize(to: OperationDetails())
    pointee.details = details
    return details
  }

  /// For an operation without a plan, which starts once at most.
  var attemptsWithoutPlan: UInt32 { loadWord().contains(.started) ? 1 : 0 }

  func needPlanLocked() {
    let details = needDetailsLocked()
    if details.pointee.plan != nil { return }
    let plan = OperationPlan.Pointer.allocate(capacity: 1)
    plan.initialize(to: OperationPlan())
    plan.pointee.attempts = attemptsWithoutPlan
    details.pointee.plan = plan
  }

  /// Asks the operation's condition, if it has one, just before the work is called. False when the
  /// work must not be called: the operation has ended, by its condition or while its start was
  /// told, or it goes back to be started again. Called without a lock.
  ///
  /// - Parameter mayGoBack: Callbacks since the start may have stopped the queue.
  @inline(__always)
  func isStillWanted(_ token: Handle, _ condition: RawCondition?, mayGoBack: Bool) -> Bool {
    if condition == nil && !mayGoBack && !loadWord().contains(.claimed) { return true }
    return isStillWantedSlowly(token, condition, mayGoBack)
  }

  @inline(never)
  private func isStillWantedSlowly(
    _ token: Handle, _ condition: RawCondition?, _ mayGoBack: Bool
  ) -> Bool {
    if let condition, !loadWord().contains(.claimed) {
      let process = ProcessState.current
      let verdict = condition(pointee.context)
      if ProcessState.current != process { return false }
      switch verdict {
      case 0: break
      case 1: _ = end(token, as: .finished, payload: .init(cause: .skipped))
      default: _ = end(token, as: .cancelled, payload: .init(cause: .condition))
      }
    }
    if mayGoBack { lane.goBackIfStopped(token, slot: self) }
    if !loadWord().contains(.claimed) { return true }
    // It may have been cut off meanwhile. Nobody has its token, so a place held for it would never
    // be given up.
    lane.takePlaceBack(from: self, generation: token.generation)
    return false
  }
}
