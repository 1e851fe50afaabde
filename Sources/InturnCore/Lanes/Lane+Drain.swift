/// How an executor drains a lane.
extension UnsafeMutablePointer<Lane> {
  /// Makes the calls that the lane has to make, as far as the budget goes.
  func drain(_ budget: inout DrainBudget) {
    CallFrame(lane: self, home: budget.executor).enter { drainInFrame(&budget) }
  }

  @_optimize(speed)
  @inline(never)
  private func drainInFrame(_ budget: inout DrainBudget) {
    pointee.lock.lockPatiently()
    pointee.machine.drainerArrives()
    // The executor may have been replaced meanwhile.
    pointee.extra?.pointee.executors.drainerArrives(from: budget.executor)
    if Recorder.isOn { traceTurnLocked() }
    budget.hasCalled = false
    while comeToStartLocked(&budget) && startLocked(&budget) == .goOn {}
  }

  /// What every drainer does before each start: performs its outbox, delivers ends, gives way to
  /// others. Returns false, with the lane unlocked, when the drainer is done with it.
  @inline(__always)
  func comeToStartLocked(_ budget: inout DrainBudget) -> Bool {
    while true {
      if budget.outbox.hasNews {
        unlock(&budget.outbox)
        if !relock(budget) { return false }
        continue
      }
      let next = pointee.machine.nextOfDrainer(view)
      if next == .leave {
        pointee.machine.drainerLeaves()
        leaveLocked(&budget.outbox)
        return false
      }
      if budget.remaining <= 0 || givesWayLocked(budget, starts: next == .start) {
        pointee.machine.drainerGoesBack()
        let executor = self.executor
        pointee.lock.unlock()
        budget.outbox.dropOver()
        executor.submit(ReadyRing.Item(lane: self))
        return false
      }
      budget.hasCalled = true
      if next == .start { return true }
      if !deliverOneLocked(&budget) { return false }
    }
  }

  /// The drainer calls work. In a long call it is not in the lane, which stays in use.
  @inline(__always)
  func drainerCallsLocked() {
    if !pointee.machine.traits.contains(.longCalls) { return }
    pointee.machine.drainerCalls()
    needExtra().pointee.quiet.outside += 1
  }

  @inline(__always)
  func drainerReturnsLocked() {
    if !pointee.machine.traits.contains(.longCalls) { return }
    pointee.machine.drainerReturns()
    pointee.extra!.pointee.quiet.outside -= 1
  }

  enum Progress { case goOn, stop }

  /// Whether a drainer should go back: the lane has another executor by now, which makes the
  /// starts; or this one has other work and the drainer has made a call. This lane's own drainers
  /// that wait there do not count, as each would only do what this one does; nor do those that wait
  /// at a previous executor. Takes no reference: whoever replaces the executor keeps the old one
  /// alive, and needs the lock for it.
  @inline(__always)
  func givesWayLocked(_ budget: borrowing DrainBudget, starts: Bool = true) -> Bool {
    let drainers = pointee.machine.scheduled
    if let executor = pointee.extra?.pointee.executors.current {
      if budget.isElsewhere(than: executor) { return starts }
      if !budget.hasCalled { return false }
      return othersWaitLocked(at: executor, drainers)
    }
    if !budget.hasCalled { return false }
    return Engine.current.pointee.poolReference._withUnsafeGuaranteedRef {
      $0.hasWaiting(besides: drainers)
    }
  }

  @_optimize(speed)
  @inline(never)
  private func othersWaitLocked(at executor: Unmanaged<Executor>, _ drainers: UInt16) -> Bool {
    let others = drainers - pointee.extra!.pointee.executors.awayCount
    return executor._withUnsafeGuaranteedRef { $0.hasWaiting(besides: others) }
  }

  private func startLocked(_ budget: inout DrainBudget) -> Progress {
    if pointee.machine.traits.contains(.bursts), !pointee.machine.countsStarts,
      budget.wanted == 0, order?.pointee.front.isEmpty ?? true,
      let chunk = frontLocked(), !chunk.first.work.isNone,
      !chunk.first.isTakenOut
    {
      return runBurstLocked(chunk, &budget)
    }
    if isHeadBlockedLocked() {
      pointee.machine.flags.insert(.headBlocked)
      return .goOn
    }
    guard let job = popLocked() else { return .goOn }
    if let slot = job.slot { return runLocked(slot, &budget) }
    if job.isTakenOut { return dropTombstoneLocked(job, &budget) ? .goOn : .stop }
    return runBareLocked(job, &budget)
  }

  // MARK: One operation

  /// Starts an operation that has a slot, or runs a segment. The job has left the buffer.
  @_optimize(speed)
  private func runLocked(_ slot: OperationSlot.Pointer, _ budget: inout DrainBudget) -> Progress {
    if slot.loadWord().contains(.segment) { return runSegmentLocked(slot, &budget) }
    if slot.loadWord().contains(.claimed) {
      return dropTombstoneLocked(slot, &budget) ? .goOn : .stop
    }
    if let plan = slot.plan {
      if !claimNamesLocked(slot, plan) { return .goOn }
      plan.pointee.attempts += 1
    }
    slot.pointee.caller = budget.thread
    beginLocked(slot, &budget.outbox)
    if let events {
      // An observer that is told of the start before the call counts as inside the operation, too.
      CallFrame.innermost?.pointee.operation = slot
      noteLocked(.started, of: slot)
      // Tells the start first, unless another thread is telling events just now.
      if events.canBeTold {
        // Telling the start counts as part of the call.
        let remaining = budget.remaining
        if !tellEventsLocked(events, &budget) { return .stop }
        budget.remaining = remaining
      }
    }
    callLocked(slot, &budget)
    if !budget.isStillOurs { return .stop }
    let progress = callReturned(slot, &budget)
    // The lane has stayed locked since `next` was found.
    while let next = budget.next {
      budget.next = nil
      next.pointee.caller = budget.thread
      beginLocked(next, &budget.outbox)
      callLocked(next, &budget)
      if !budget.isStillOurs || callReturned(next, &budget) == .stop { return .stop }
    }
    return progress
  }

  /// Drops an operation that ended before its turn. Called with the lock, which it releases and
  /// takes again; false in a forked child, or when the process exits.
  func dropTombstoneLocked(
    _ slot: OperationSlot.Pointer, _ budget: inout DrainBudget
  ) -> Bool {
    pointee.extra?.pointee.backlog.tombstones -= 1
    unlockForCall(&budget)
    slot.dropReference()
    return relock(budget)
  }

  /// Makes an operation that has left the buffer a running one. The drainer takes over the buffer's
  /// reference.
  @inline(__always)
  func beginLocked(_ slot: OperationSlot.Pointer, _ outbox: inout Outbox) {
    pointee.pending -= 1
    if !slot.pointee.flags.contains(.untimed) { slot.pointee.startedAt = nowLocked }
    _ = slot.set(.started)
    armForRunLocked(slot)
    addRunningLocked(slot)
    countStartLocked()
    if Recorder.isOn { traceStartedLocked(slot) }
    stageStatesLocked(of: slot, &outbox)
  }

  /// Calls the work of a started operation. Takes the lane locked and leaves it unlocked. The
  /// process may have forked or begun to exit when it returns.
  @inline(__always)
  func callLocked(_ slot: OperationSlot.Pointer, _ budget: inout DrainBudget) {
    let token = slot.handle(.token)
    let condition = slot.condition
    let staged = stagedBeforeCallLocked(&budget.outbox)
    let mayGoBack =
      pointee.machine.traits.contains(.view) && (condition != nil || events != nil || staged != nil)
    unlockForCall(&budget)
    let frame = CallFrame.innermost
    frame?.pointee.operation = slot
    if let staged {
      staged.deliver()
      if !budget.isStillOurs { return }
    }
    let isWanted = slot.isStillWanted(token, condition, mayGoBack: mayGoBack)
    if isWanted || condition != nil { budget.remaining -= 1 }
    if isWanted { budget.call(slot, token) }
    frame?.pointee.operation = nil
  }

  /// The call of an operation's work has returned. Called without the lock, which is held
  /// afterwards unless the drainer has to stop.
  ///
  /// The slot stays until the lane has settled the operation, as the drainer has a reference;
  /// afterwards it may be gone.
  @_optimize(speed)
  func callReturned(_ slot: OperationSlot.Pointer, _ budget: inout DrainBudget) -> Progress {
    if Recorder.isOn { slot.traceReturned() }
    let word = slot.loadWord()
    // Destroying a context counts as a call.
    if word.contains(.ended), slot.pointee.destroy == nil || budget.remaining > 0 {
      pointee.lock.lockPatiently()
      if isSettledAtOnceLocked(slot, word) {
        settleAtOnceLocked(slot)
        if slot.pointee.destroy == nil {
          tellAtOnceLocked(slot, &budget)
        } else if !destroyContextLocked(of: slot, &budget) {
          return .stop
        }
        // The engine's reference and the drainer's.
        slot.dropReferences(2)
        return .goOn
      }
      pointee.lock.unlock()
    }
    return settleReturned(slot, slot.set(.returned), &budget)
  }

  /// Takes the lock and settles an operation, if it has ended. `before` is its word from before
  /// `returned` was set.
  @_optimize(speed)
  func settleReturned(
    _ slot: OperationSlot.Pointer, _ before: OperationWord, _ budget: inout DrainBudget
  ) -> Progress {
    pointee.lock.lock()
    var wasDetached = false
    if before.contains(.ended) {
      wasDetached = slot.pointee.flags.contains(.detached)
      settleLocked(slot, endedInsideCall: true, &budget.outbox)
      tellOwnLocked(&budget.outbox)
    }
    let isLast = slot.dropReferenceWithoutRecycling()
    if !isLast && !wasDetached { return .goOn }
    pointee.lock.unlock()
    if isLast { slot.recycle() }
    if !relock(budget) { return .stop }
    if !wasDetached { return .goOn }
    // The lane has gone on without this drainer.
    pointee.extra!.pointee.quiet.outside -= 1
    leaveLocked(&budget.outbox)
    return .stop
  }

  private func runSegmentLocked(
    _ segment: OperationSlot.Pointer, _ budget: inout DrainBudget
  ) -> Progress {
    pointee.pending -= 1
    pointee.extra!.pointee.backlog.segments -= 1
    pointee.extra!.pointee.backlog.segmentsRun += 1
    // The operation's own slot, of which the segment holds a reference.
    let operation = segment.segmentOperation
    let word = operation.loadWord()
    // A segment of a past attempt is not called either.
    let isCalled =
      word.generation == segment.segmentGeneration && !word.contains(.claimed)
    let token = Handle(
      .token, index: operation.pointee.index, generation: segment.segmentGeneration)
    unlockForCall(&budget)
    if isCalled {
      budget.remaining -= 1
      segment.pointee.work.call(segment.pointee.context, token.bits)
      if !budget.isStillOurs { return .stop }
    } else {
      // The token may have been the segment's alone.
      takePlaceBack(from: operation, generation: segment.segmentGeneration)
    }
    if let destroy = segment.pointee.destroy {
      destroy(segment.pointee.context)
      if !budget.isStillOurs { return .stop }
    }
    segment.dropReference()
    operation.dropReference()
    return relock(budget) ? .goOn : .stop
  }

  // MARK: Leaving

  /// Ends a drainer's turn. Releases the lock.
  @_optimize(speed)
  func leaveLocked(_ outbox: inout Outbox) {
    // While this one delivered, another may have begun a burst, and reads the buffer.
    if pointee.pending == 0 && pointee.machine.flags.isDisjoint(with: [.destroyed, .bursting]) {
      pointee.buffer.release()
      order?.pointee.front.releaseLarge()
    }
    unlock(&outbox)
  }
}
