/// Operations that start more than once: by their retry policy, after a failure or too long a run;
/// after giving way to an urgent one; and when their queue was stopped before their work was
/// called.
///
/// Each attempt has its own token. Its end is claimed like any end, with `restarting` in the word;
/// whoever carries on after it decides whether it is also the operation's end. Until then the
/// operation counts as running for every observer. When a deadline has cut an attempt off, what it
/// began may still go on; the next attempt waits for that.
extension UnsafeMutablePointer<Lane> {
  /// Acts on an attempt's end. True when it is the operation's end.
  func concludeAttemptLocked(_ slot: OperationSlot.Pointer, _ outbox: inout Outbox) -> Bool {
    let plan = slot.plan!
    let word = slot.loadWord()
    let isDestroyed = pointee.machine.flags.contains(.destroyed)
    if word.contains(.cancelRequested) || isDestroyed
      || word.generation == Handle.maximumGeneration
    {
      slot.endForGoodLocked(isDestroyed ? .destroyed : slot.requestCause, &outbox)
      return true
    }
    if word.outcome == nil {
      restartLocked(slot, plan, delay: 0, &outbox)
      return false
    }
    let policy = plan.pointee.retry!
    if plan.pointee.verdict == .enough || !policy.allows(attemptsSoFar: plan.pointee.attempts)
      || word.contains(.cutOff) && policy.isOfFailuresOnly
    {
      slot.endForGoodLocked(.none, &outbox)
      return true
    }
    if policy.decide != nil && plan.pointee.verdict == .open {
      queueDeliveryLocked(slot)
      return false
    }
    // A cut-off attempt may still be at work: its call, its token, or its cancel handler.
    if word.contains(.cutOff),
      word.contains(.placeHeld) || !word.contains(.returned)
        || slot.pointee.details!.pointee.isNoticed
    {
      return false
    }
    plan.pointee.verdict = .open
    let chance = Double.random(in: 0..<1)
    restartLocked(
      slot, plan, delay: policy.delay(afterAttempts: plan.pointee.attempts, chance: chance),
      &outbox)
    return false
  }

  /// Makes the operation pending again.
  private func restartLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer, delay: Int64,
    _ outbox: inout Outbox
  ) {
    let details = slot.pointee.details!
    let wasBarrier = slot.pointee.flags.contains(.isFence)
    if !slot.loadWord().contains(.reattempted) {
      plan.pointee.handleGeneration = slot.loadWord().generation
    }
    removeRunningLocked(slot)
    releaseNamesLocked(slot, &outbox)
    slot.pointee.code = slot.codeOfAttempt
    noteLocked(.restarting, of: slot)
    slot.pointee.code = 0
    details.pointee.isPreempted = false
    plan.pointee.comesNext = false
    slot.addReference()
    pointee.pending += 1
    details.pointee.deadlineAt = Int64.max
    details.pointee.stallAt = Int64.max
    details.pointee.graceAt = Int64.max
    if delay > 0 {
      plan.pointee.blockers += 1
      plan.pointee.retryAt = clock.moment(after: delay)
      // The timer is armed before the word says that the operation waits, as whoever reads that may
      // advance the clock. A timer that fires at once waits for the lock and then finds this
      // attempt.
      armLocked(slot, details, generation: slot.loadWord().generation + 1)
    }
    // From here on, the old token belongs to a past attempt.
    _ = slot.change { $0.restarted() }
    stageStatesLocked(of: slot, &outbox)
    let order = needOrder()
    if wasBarrier {
      order.pointee.isFenceRunning = false
    } else if pointee.machine.traits.contains(.oneAtATime) {
      // Before those that came next while it ran.
      order.pushFirst(slot)
    } else if delay > 0 {
      order.block(slot)
    } else if isSelective {
      _ = order.push(Job(slot: slot), priority: slot.level, isOwed: true)
    } else {
      _ = appendBegunLocked(Job(slot: slot), isOwed: true)
    }
    if plan.pointee.goesBack {
      // Nothing was shown, so this was no attempt.
      plan.pointee.goesBack = false
      plan.pointee.attempts -= 1
    } else if pointee.machine.traits.contains(.view) {
      holdForGapLocked()
    }
  }

  /// Asks the retry policy's function about a failed attempt; this counts as a delivery. Called
  /// with the lock, which it releases and takes again. False in a forked child, or when the process
  /// exits.
  func askForVerdictLocked(_ slot: OperationSlot.Pointer, _ budget: inout DrainBudget) -> Bool {
    let plan = slot.plan!
    let decide = plan.pointee.retry!.decide!
    let (code, attempts) = (slot.codeOfAttempt, plan.pointee.attempts)
    unlockForCall(&budget)
    // For the wait graph, this call is part of the operation, like a call of its work.
    let frame = CallFrame.innermost
    frame?.pointee.operation = slot
    let isWorthIt = decide(slot.pointee.context, code, attempts)
    frame?.pointee.operation = nil
    if !relock(budget) { return false }
    plan.pointee.verdict = isWorthIt ? .again : .enough
    slot.pointee.flags.remove(.inDelivery)
    settleLocked(slot, endedInsideCall: false, &budget.outbox)
    return true
  }

  /// An interaction has begun, but its work has not been called yet. If a condition or an observer
  /// that was called in between has hidden the view or suspended the queue, the operation is
  /// started again, with its condition, once the queue goes on. The drainer carries on after it.
  /// Called without the lock.
  func goBackIfStopped(_ token: Handle, slot: OperationSlot.Pointer) {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    let isSuspended = pointee.machine.flags.contains(.suspended)
    if !isSuspended && pointee.extra!.pointee.pace!.pointee.isViewReady(at: clock.now) { return }
    slot.needPlanLocked()
    if slot.change({ $0.yielding(generation: token.generation) }) != nil {
      slot.plan!.pointee.goesBack = true
    }
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  /// The running operation gives way: it starts again, before all but urgent ones.
  func yield(_ token: Handle) -> Status {
    guard let lane = lockLane(ofAttempt: token.generation) else {
      // On any kind of queue: a caller who is told `ALREADY_FINISHED` does not come again.
      self.lane.takePlaceBack(from: self, generation: token.generation)
      return .alreadyFinished
    }
    guard lane.pointee.machine.traits.contains(.urgency) else {
      lane.pointee.lock.unlock()
      return .wrongKind
    }
    needPlanLocked()
    let changed = change { $0.yielding(generation: token.generation) }
    lane.pointee.lock.unlock()
    guard let changed else { return .alreadyFinished }
    if changed.contains(.returned) { lane.carryOn(after: self) }
    return .ok
  }

  /// Why there is another attempt: the work's own code, or a time-out.
  fileprivate var codeOfAttempt: Int32 {
    loadWord().outcome == .timedOut ? Status.timedOut.rawValue : pointee.code
  }

  /// The attempt's end is the operation's, after all. An attempt that only gave way ends cancelled,
  /// with this cause.
  func endForGoodLocked(_ cause: Cause, _ outbox: inout Outbox) {
    if loadWord().outcome == nil { pointee.cause = cause }
    pointee.endedAt = lane.nowLocked
    if let changed = change({ $0.endedForGood() }) { wakeWaiters(changed) }
    lane.stageStatesLocked(of: self, &outbox)
  }
}
