import Synchronization

/// Operations without options or handle on a lane that runs several at a time, and the short way to
/// settle what has finished within its call.
extension UnsafeMutablePointer<Lane> {
  /// Starts an operation that has no slot: with the drainer's gate, which is none's.
  func runBareLocked(_ job: Job, _ budget: inout DrainBudget) -> Progress {
    pointee.pending -= 1
    let gate = takeGateLocked(&budget)
    let generation = gate.loadWord().generation + 1
    gate.pointee.word.store(
      OperationWord(generation: generation, .started).bits, ordering: .releasing)
    gate.pointee.work = job.work
    gate.pointee.context = job.context
    gate.pointee.destroy = job.destroy
    addRunningLocked(gate)
    countStartLocked()
    callLocked(gate, &budget)
    if !budget.isStillOurs { return .stop }
    let word = gate.loadWord()
    // To destroy a context is a call by itself.
    if word.contains(.ended), gate.pointee.destroy == nil || budget.remaining > 0 {
      if Batch.takeDownAtOnce(gate, word) { gate.pointee.destroy = nil }
      pointee.lock.lock()
      if settleAtOnceLocked(gate, word) {
        if gate.pointee.destroy != nil && !destroyContextLocked(of: gate, &budget) { return .stop }
        gate.pointee.flags = []
        return keepOrDrop(gate, &budget) ? .goOn : .stop
      }
      pointee.lock.unlock()
    }
    // The slot is the operation's from now on. Until the lane has settled it, it stays; after that
    // it may be gone.
    Engine.current.pointee.gates.wrappingSubtract(1, ordering: .relaxed)
    gate.addReference()
    return settleReturned(gate, gate.set(.returned), &budget)
  }

  /// Settles an operation that has finished within its call, if nobody has to be told of that but
  /// those that come after it. False: it has to be settled the long way.
  @inline(__always)
  func settleAtOnceLocked(_ slot: OperationSlot.Pointer, _ word: OperationWord) -> Bool {
    let details = slot.pointee.details
    let flags = slot.pointee.flags.subtracting([.untimed, .obstinate])
    guard word.isSimplyFinished, flags.isEmpty, slot.pointee.resultDestroy == nil,
      details == nil || details.unsafelyUnwrapped.pointee.isLean,
      pointee.machine.kind != .interaction,
      pointee.machine.flags.isDisjoint(
        with: [.destroyed, .isObserved, .watched, .hasDeliveries])
    else { return false }
    // They are told first: the callback may be a long one.
    if slot.pointee.destroy != nil && details?.pointee.firstEdge != nil { return false }
    slot.pointee.flags.formUnion([.counted, .placeReleased, .inDelivery])
    pointee.finished += 1
    removeRunningLocked(slot)
    return true
  }

  /// Tells those that come after an operation that has finished, and is settled. If it is a single
  /// one that can start, and nothing else is there to be started, called or told, that is this
  /// drainer's next one: it need not be put anywhere.
  @inline(__always)
  func tellAtOnceLocked(_ slot: OperationSlot.Pointer, _ budget: inout DrainBudget) {
    guard let details = slot.pointee.details, let edge = details.pointee.firstEdge else { return }
    if edge.pointee.next == nil, let next = takeOverLocked(edge, budget) {
      details.pointee.firstEdge = nil
      details.pointee.lastEdge = nil
      budget.next = next
    } else {
      tellAtOnceLocked(slot, details)
    }
  }

  @inline(__always)
  private func takeOverLocked(_ edge: Edge.Pointer, _ budget: DrainBudget)
    -> OperationSlot.Pointer?
  {
    let later = edge.pointee.later
    guard later.lane == self, let details = later.pointee.details, details.pointee.isLean,
      let plan = details.pointee.plan, plan.pointee.blockers == 1,
      !later.loadWord().contains(.claimed), let order, order.pointee.isEmpty,
      plan.pointee.priority == 0, later.pointee.flags.contains(.isBlocked),
      pointee.machine.canStartNext(limit: pointee.extra.unsafelyUnwrapped.pointee.limit),
      budget.remaining > 0, !executorHasWaiting
    else { return nil }
    edge.pointee.next = nil
    edge.pointee.earlier = nil
    plan.pointee.blockers = 0
    order.unblock(later)
    // Not the last one, as it is pending.
    later.pointee.references.wrappingSubtract(1, ordering: .relaxed)
    return later
  }

  /// Destroys the context of an operation that is settled. Called with the lock, which it gives up
  /// and takes again. False when the process is not the same any more.
  func destroyContextLocked(
    of slot: OperationSlot.Pointer, _ budget: inout DrainBudget
  ) -> Bool {
    // What can be started does not wait for the callback, which may wait for it.
    let executor = pointee.machine.askForDrainerBeforeCall(view) ? self.executor : nil
    pointee.lock.unlock()
    executor?.submit(ReadyRing.Item(lane: self))
    budget.remaining -= 1
    slot.pointee.destroy.unsafelyUnwrapped(slot.pointee.context)
    slot.pointee.destroy = nil
    return relock(budget)
  }
}
