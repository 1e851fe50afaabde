/// What a lane does when its operations end.
extension UnsafeMutablePointer<Lane> {
  /// Carries on after an operation that has ended and whose work has returned. Called, without the
  /// lock, by whoever set the second of the two.
  func carryOn(after slot: OperationSlot.Pointer) {
    pointee.lock.lock()
    carryOnLocked(after: slot)
  }

  /// A late token of an operation that a deadline has ended and that may hold its place: gives the
  /// place up. Does nothing when it holds none. Called without the lock.
  ///
  /// A place is given up under the lock only, with no gap before the operation is settled: once it
  /// is settled it is let go of, and then the queue may go, too.
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

  /// Takes the lane locked and leaves it unlocked.
  private func carryOnLocked(after slot: OperationSlot.Pointer) {
    // A burst's drainer may still be waiting for the lock; it will find the burst ended.
    if isGateOfBurstLocked(slot) { suspendBurstLocked(slot) }
    var outbox = Outbox()
    settleLocked(slot, endedInsideCall: false, &outbox)
    tellOwnLocked(&outbox)
    unlock(&outbox)
  }

  /// Acts on an operation's end. May be called again after each change. The lane is locked.
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
      if word.outcome != .finished { Batch.noteFailureLocked(slot) }
      if let details = slot.pointee.details { disarmLocked(details) }
      releaseEdgesLocked(slot, &outbox)
      leaveGroupsLocked(slot)
      noteLocked(.ended, of: slot)
      endFollowersLocked(slot, &outbox)
      if !word.contains(.started) { releaseNamesLocked(slot, &outbox) }
    }
    if word.contains(.started) && !slot.pointee.flags.contains(.placeReleased) {
      // The operation was cut off in the middle of its call. The queue goes on without that
      // drainer; only a destroyed queue waits for it.
      let isInCall = !word.contains(.returned) && !slot.pointee.flags.contains(.detached)
      let isAwaited = pointee.machine.flags.contains(.destroyed)
      if isInCall && !isAwaited {
        slot.pointee.flags.insert(.detached)
        pointee.machine.drainerLeaves()
        needExtra().pointee.quiet.outside += 1
        // An actor does not count who runs: what is in a call has the place.
        if word.contains(.placeHeld) && pointee.machine.traits.contains(.segments) {
          slot.pointee.flags.insert(.occupies)
          pointee.machine.flags.insert(.occupied)
        }
      }
      if slot.pointee.flags.contains(.occupies)
        && (word.contains(.returned) || !word.contains(.placeHeld))
      {
        slot.pointee.flags.remove(.occupies)
        pointee.machine.flags.remove(.occupied)
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
      // Staged now, as the lane may start another operation before it is unlocked.
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
      // Set so that the slot is let go of only once.
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

  /// Queues an end in the order of the ends, with one exception: an operation that ended while its
  /// work was being called comes before the cancelled ones that were behind it.
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
  /// which it releases for the callbacks and takes again. False in a forked child, or when the
  /// process exits; the lock is not taken then.
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
    // Not with `pop`: a host's jobs have numbers for their work, and one such number is an optional
    // job's nil.
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

  /// Makes one call at most: an end callback, a retry policy's function, or a handler. Destroying
  /// contexts is part of the delivery.
  private func deliverLocked(_ slot: OperationSlot.Pointer, _ budget: inout DrainBudget) -> Bool {
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
        if !budget.isStillOurs { return false }
      }
      if let destroy = callback.destroy { destroy(callback.context) }
      if !relock(budget) { return false }
    }
    let word = slot.loadWord()
    if !word.isOver || (word.contains(.started) && !slot.pointee.flags.contains(.placeReleased)) {
      // It is settled again when its call returns or its place is given up, perhaps by a thread
      // that has returned from the call and is waiting for the lock.
      slot.pointee.flags.remove(.inDelivery)
      return true
    }
    // The executor may reach the end before the cancel notice.
    let isToldHere =
      word.contains([.cutOff, .started]) && slot.isDueLocked(.cancel)
      && !pointee.machine.flags.contains(.destroyed)
    if isToldHere && hasCalled {
      // That handler is a call of its own.
      pointee.extra!.pointee.deliveries.prepend(slot)
      noteDeliveriesLocked()
      return true
    }
    if isToldHere { budget.remaining -= 1 }
    let handlers = (slot.takeHandlerLocked(for: .cancel), slot.takeHandlerLocked(for: .preempt))
    unlockForCall(&budget)
    if isToldHere {
      handlers.0.function!(handlers.0.context, slot.handle(.token).bits)
      if !budget.isStillOurs { return false }
    }
    // After one that has forked, or during which the process exits, the others are not called.
    if let destroy = slot.pointee.destroy { destroy(slot.pointee.context) }
    if budget.isStillOurs { handlers.0.destroyContext() }
    if budget.isStillOurs { handlers.1.destroyContext() }
    // Nobody can ask for the result any more, but a cancel notice may still refer to the slot.
    if budget.isStillOurs, !slot.loadWord().contains(.handleHeld),
      slot.groups?.pointee.hasBeenJoined != true, let destroy = slot.pointee.resultDestroy
    {
      slot.pointee.resultDestroy = nil
      destroy(slot.pointee.result)
    }
    if !budget.isStillOurs { return false }
    slot.dropReference()
    return relock(budget)
  }

  /// Releases the lock for a call after which the drainer goes on. What can start does not wait for
  /// the call, which may wait for that: where there may be several drainers, it asks for another one.
  /// Its outbox is not lost: the drainer performs it before anything else.
  @_optimize(speed)
  @inline(never)
  func unlockForCall(_ budget: inout DrainBudget) {
    let mayNeedAnother = pointee.machine.traits.contains(.overlapping)
    let executor = mayNeedAnother && pointee.machine.askForDrainer(view) ? self.executor : nil
    pointee.lock.unlock()
    budget.outbox.dropOver()
    if let executor { executor.submit(ReadyRing.Item(lane: self)) }
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
