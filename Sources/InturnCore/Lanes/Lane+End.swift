/// What a lane does about the ends of its operations.
extension UnsafeMutablePointer<Lane> {
  /// Goes on after an operation that has ended and whose work has returned: called by who set the
  /// second of the two, without the lock.
  func carryOn(after slot: OperationSlot.Pointer) {
    pointee.lock.lock()
    carryOnLocked(after: slot)
  }

  /// The late token of an operation that a deadline has ended and that keeps its place. Nothing happens
  /// when it keeps none. Without the lock.
  ///
  /// A place is given up under the lock only. Whoever settles the operation next lets go of it, and
  /// then the queue may go, too: there is no moment between the two at which somebody else may.
  func takePlaceBack(from slot: OperationSlot.Pointer, generation: UInt32) {
    pointee.lock.lock()
    guard slot.lane == self, let word = slot.releasePlaceLocked(generation: generation),
      word.contains(.returned)
    else {
      pointee.lock.unlock()
      return
    }
    carryOnLocked(after: slot)
  }

  /// Gives the lock up.
  private func carryOnLocked(after slot: OperationSlot.Pointer) {
    // A burst's drainer may still be on its way to the lock; it finds the burst ended.
    if isGateOfBurstLocked(slot) { suspendBurstLocked(slot) }
    var outbox = Outbox()
    settleLocked(slot, endedInsideCall: false, &outbox)
    tellOwnLocked(&outbox)
    unlock(&outbox)
  }

  /// Draws the conclusions from an operation's end. May be called again after each change; the
  /// lane is locked.
  @_optimize(speed)
  func settleLocked(
    _ slot: OperationSlot.Pointer, endedInsideCall: Bool, _ outbox: inout Outbox
  ) {
    var word = slot.loadWord()
    guard word.contains(.ended) else { return }
    if word.contains(.restarting) {
      if slot.pointee.flags.contains(.inDelivery) || !concludeAttemptLocked(slot, &outbox) {
        return
      }
      word = slot.loadWord()
    }
    let wasCounted = slot.pointee.flags.contains(.counted)
    if !wasCounted {
      slot.pointee.flags.insert(.counted)
      countLocked(word.outcome!)
      if let details = slot.pointee.details { disarmLocked(details) }
      releaseEdgesLocked(slot, &outbox)
      leaveGroupsLocked(slot)
      noteLocked(.ended, of: slot)
      endFollowersLocked(slot, &outbox)
      if !word.contains(.started) { releaseNamesLocked(slot, &outbox) }
    }
    if word.contains(.started) && !slot.pointee.flags.contains(.placeReleased) {
      // Cut off in the middle of its call: the queue goes on without that drainer. Only a destroyed
      // one waits for it.
      let isInCall = !word.contains(.returned) && !slot.pointee.flags.contains(.detached)
      let isAwaited = pointee.machine.flags.contains(.destroyed)
      if isInCall && !isAwaited {
        slot.pointee.flags.insert(.detached)
        pointee.machine.drainerLeaves()
        needExtra().pointee.quiet.outside += 1
      }
      if !word.contains(.placeHeld) && !(isInCall && isAwaited) {
        slot.pointee.flags.insert(.placeReleased)
        removeRunningLocked(slot)
        if wasCounted { pointee.extra!.pointee.ends.keepingPlaces -= 1 }
        releaseNamesLocked(slot, &outbox)
        if slot.pointee.flags.contains(.isFence) { order!.liftFence(slot) }
        if pointee.machine.traits.contains(.view) && !endedInsideCall { holdForGapLocked() }
      } else if !wasCounted {
        needExtra().pointee.ends.keepingPlaces += 1
      }
    }
    if !wasCounted {
      // The lane may start another one before it gives the lock up.
      if word.contains(.started) { stageStatesLocked(&outbox) }
      stageStatesLocked(of: slot, &outbox)
    }
    noteIdleLocked()
    if slot.pointee.flags.contains(.inDelivery) { return }
    let tellsEnd =
      !slot.pointee.flags.contains(.endDelivered)
      && slot.pointee.details?.pointee.endCallback.function != nil
    if tellsEnd || (word.isOver && slot.hasSomethingToDestroy) {
      queueDeliveryLocked(slot)
    } else if word.isOver {
      // Set so that it is let go of once.
      slot.pointee.flags.insert(.inDelivery)
      outbox.letGo(of: slot)
    }
  }

  func countLocked(_ outcome: Outcome) {
    if outcome == .finished {
      pointee.finished += 1
    } else {
      needExtra().pointee.ends.add(outcome)
    }
  }

  /// In the order of the ends, but for one case: an operation that has ended while its work was
  /// being called comes before what was cancelled meanwhile behind it.
  func queueDeliveryLocked(_ slot: OperationSlot.Pointer) {
    let extra = needExtra()
    slot.pointee.flags.insert(.inDelivery)
    let startsBefore =
      !pointee.machine.traits.contains(.overlapping) && slot.loadWord().contains(.started)
    if startsBefore, let first = extra.pointee.deliveries.first,
      !first.loadWord().contains(.started)
    {
      extra.pointee.deliveries.prepend(slot)
    } else {
      extra.pointee.deliveries.append(slot)
    }
    pointee.machine.flags.insert(.hasDeliveries)
  }

  /// Delivers one end, or destroys the context of one cancelled operation. Called with the lock,
  /// which it gives up for the callbacks and takes again. False when the process is not the same
  /// any more: then the lock is not taken.
  func deliverOneLocked(_ budget: inout DrainBudget) -> Bool {
    let extra = pointee.extra!
    if let events = extra.pointee.events, events.canBeTold {
      return tellEventsLocked(events, &budget)
    }
    if let slot = extra.pointee.deliveries.pop() {
      noteDeliveriesLocked()
      return deliverLocked(slot, &budget)
    }
    if let graph = extra.pointee.graphs.firstCancelled { return deliverHeldLocked(graph, &budget) }
    // Not by `pop`: a host's jobs have numbers for their work, and one of those is an optional's none.
    while let grave = extra.pointee.backlog.graveyard.front() {
      let job = grave.first
      grave.pointee.start += 1
      guard let destroy = job.destroy else { continue }
      budget.remaining -= 1
      unlockForCall(&budget)
      destroy(job.context)
      return relock(budget)
    }
    extra.pointee.backlog.graveyard.release()
    noteDeliveriesLocked()
    return true
  }

  func noteDeliveriesLocked() {
    let extra = pointee.extra!
    pointee.machine.set(
      .hasDeliveries,
      extra.pointee.deliveries.first != nil || extra.pointee.backlog.graveyard.head != nil
        || extra.pointee.graphs.firstCancelled != nil || extra.pointee.events?.canBeTold == true)
  }

  /// One call at most: of the end's callback, a retry policy's function, a handler. What is destroyed
  /// is part of the end's delivery.
  private func deliverLocked(_ slot: OperationSlot.Pointer, _ budget: inout DrainBudget) -> Bool {
    // What can be started does not wait for the callbacks: one of them may wait for it.
    if pointee.machine.askForDrainerBeforeCall(view) {
      let executor = self.executor
      unlockForCall(&budget)
      executor.submit(ReadyRing.Item(lane: self))
      if !relock(budget) { return false }
    }
    if slot.loadWord().contains(.restarting) {
      budget.remaining -= 1
      return askForVerdictLocked(slot, &budget)
    }
    var hasCalled = false
    if !slot.pointee.flags.contains(.endDelivered) {
      slot.pointee.flags.insert(.endDelivered)
      hasCalled = true
      budget.remaining -= 1
    }
    if hasCalled, let details = slot.pointee.details {
      let callback = details.pointee.endCallback
      unlockForCall(&budget)
      if let function = callback.function {
        callback.call!(function, callback.context, slot.makeEnd())
      }
      if let destroy = callback.destroy { destroy(callback.context) }
      if !relock(budget) { return false }
    }
    let word = slot.loadWord()
    if !word.isOver || (word.contains(.started) && !slot.pointee.flags.contains(.placeReleased)) {
      // It is to be looked at again when its call returns, or its place is given up; also by who has
      // just returned from the call, and is on the way to the lock.
      slot.pointee.flags.remove(.inDelivery)
      return true
    }
    // The executor may have come to the end before the notice of it.
    let isToldHere =
      word.contains(.cutOff) && slot.isDueLocked(.cancel)
      && !pointee.machine.flags.contains(.destroyed)
    if isToldHere && hasCalled {
      // That is a call by itself.
      pointee.extra!.pointee.deliveries.prepend(slot)
      noteDeliveriesLocked()
      return true
    }
    if isToldHere { budget.remaining -= 1 }
    let handlers = (slot.takeHandlerLocked(for: .cancel), slot.takeHandlerLocked(for: .preempt))
    unlockForCall(&budget)
    if isToldHere { handlers.0.function!(handlers.0.context, slot.handle(.token).bits) }
    if let destroy = slot.pointee.destroy { destroy(slot.pointee.context) }
    handlers.0.destroyContext()
    handlers.1.destroyContext()
    // Nobody can ask for the result any more; a cancel notice may still refer to the slot.
    if !slot.loadWord().contains(.handleHeld), slot.groups?.pointee.hasBeenJoined != true,
      let destroy = slot.pointee.resultDestroy
    {
      slot.pointee.resultDestroy = nil
      destroy(slot.pointee.result)
    }
    slot.dropReference()
    return relock(budget)
  }

  /// Gives the lock up for a call, after which the drainer goes on. Nothing is lost that its outbox
  /// has for others: it looks there before anything else.
  @inline(__always)
  func unlockForCall(_ budget: inout DrainBudget) {
    pointee.lock.unlock()
    budget.outbox.dropOver()
  }

  @inline(__always)
  func relock(_ budget: DrainBudget) -> Bool {
    if !budget.isStillOurs { return false }
    pointee.lock.lock()
    return true
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  /// Whether a context or a result is to be destroyed, which only an executor does.
  fileprivate var hasSomethingToDestroy: Bool {
    pointee.destroy != nil || pointee.resultDestroy != nil
      || pointee.details?.pointee.onCancel.destroy != nil
      || pointee.details?.pointee.onPreempt.destroy != nil
      || (pointee.details?.pointee.endCallback.destroy != nil
        && !pointee.flags.contains(.endDelivered))
  }
}
