/// Operations that start more than once: after a failure or too long a run, by their retry policy,
/// after giving way to an urgent one, and when their queue was stopped before their work was called.
///
/// Each attempt has a token of its own. Its end is claimed as any end is, with `restarting` in the
/// word; who carries on after it decides whether it is the operation's end, too. Until then the
/// operation counts as running, for everybody who looks. An attempt that a deadline has cut off has
/// ended, but what it began may go on: the next one waits for that.
extension UnsafeMutablePointer<Lane> {
  /// Draws the conclusions from an attempt's end. True: it is the operation's end.
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
    // What was cut off may still be at it: its call, its token, its cancel handler.
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
    slot.addReference()
    pointee.pending += 1
    details.pointee.deadlineAt = Int64.max
    details.pointee.stallAt = Int64.max
    details.pointee.graceAt = Int64.max
    if delay > 0 {
      plan.pointee.blockers += 1
      plan.pointee.retryAt = clock.moment(after: delay)
      // The timer is there before the word says that the operation waits: who reads that may
      // advance the clock. When it fires, it waits for the lock, and then it is this attempt's.
      armLocked(slot, details, generation: slot.loadWord().generation + 1)
    }
    // From here on, the old token is a past one's.
    _ = slot.change { $0.restarted() }
    stageStatesLocked(of: slot, &outbox)
    let order = needOrder()
    if wasBarrier {
      order.pointee.isFenceRunning = false
    } else if pointee.machine.traits.contains(.oneAtATime) {
      // An urgent one stays before those that came after it.
      if slot.level == OperationPlan.urgentLevel && delay == 0 {
        order.pushFirst(Job(slot: slot), priority: OperationPlan.urgentLevel)
      } else {
        _ = order.pointee.front.append(Job(slot: slot), isOwed: true)
      }
    } else if delay > 0 {
      order.block(slot)
    } else if isSelective {
      _ = order.push(Job(slot: slot), priority: slot.level, isOwed: true)
    } else {
      _ = appendBegunLocked(Job(slot: slot), isOwed: true)
    }
    if plan.pointee.goesBack {
      // Nothing was shown.
      plan.pointee.goesBack = false
      plan.pointee.attempts -= 1
    } else if pointee.machine.traits.contains(.view) {
      holdForGapLocked()
    }
  }

  /// Asks the retry policy's function about an attempt that has failed: a delivery. Called with the
  /// lock, which it gives up and takes again. False when the process is not the same any more.
  func askForVerdictLocked(_ slot: OperationSlot.Pointer, _ budget: inout DrainBudget) -> Bool {
    let plan = slot.plan!
    let decide = plan.pointee.retry!.decide!
    let (code, attempts) = (slot.codeOfAttempt, plan.pointee.attempts)
    unlockForCall(&budget)
    // The operation waits for this call as it does for one of its work.
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

  /// An interaction has begun, but its work has not been called, and those who were asked or told
  /// in between may have hidden the view or suspended the queue: then it is to be started again,
  /// with its condition, once the queue goes on. The drainer carries on after it. Without the lock.
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
  /// The running operation gives way: it is started again, before all but urgent ones.
  func yield(_ token: Handle) -> Status {
    guard let lane = lockLane(ofAttempt: token.generation) else {
      // In a queue of any kind: who is told that does not come again.
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

  /// Why there is to be another attempt: the work's own code, or that its time was over.
  fileprivate var codeOfAttempt: Int32 {
    loadWord().outcome == .timedOut ? Status.timedOut.rawValue : pointee.code
  }

  /// The attempt's end is the operation's, after all. One that only gave way ends cancelled, by
  /// that cause.
  func endForGoodLocked(_ cause: Cause, _ outbox: inout Outbox) {
    if loadWord().outcome == nil { pointee.cause = cause }
    pointee.endedAt = lane.nowLocked
    if let changed = change({ $0.endedForGood() }) { wakeWaiters(changed) }
    lane.stageStatesLocked(of: self, &outbox)
  }
}
