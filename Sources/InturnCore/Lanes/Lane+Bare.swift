import CInturnSystem
import Synchronization

/// Operations without options or handle on a lane that runs several at a time, and the short way to
/// settle what has finished within its call.
extension UnsafeMutablePointer<Lane> {
  /// Starts an operation that has no slot: with the drainer's gate, which is none's. As long as the
  /// next one is such an operation, too, and the one before it has finished, the gate goes from one
  /// to the other where it is, among those that run.
  @_optimize(speed)
  func runBareLocked(_ job: Job, _ budget: inout DrainBudget) -> Progress {
    let gate = budget.takeGate(for: self)
    beginBareLocked(job, gate)
    addRunningLocked(gate)
    var chunk = pointee.buffer.head
    while true {
      countStartLocked()
      callLocked(gate, &budget)
      // The chunk's line and the lane's, which come from another processor, had better come at the
      // same time.
      inturn_system_prefetch(chunk)
      if !budget.isStillOurs { return .stop }
      let word = gate.loadWord()
      guard word.contains(.ended) else { break }
      if Batch.takeDownAtOnce(gate, word) { gate.pointee.destroy = nil }
      // To destroy a context is a call by itself.
      guard gate.pointee.destroy == nil || budget.remaining > 0 else { break }
      pointee.lock.lock()
      if gate.pointee.destroy != nil && Batch.takeDownLocked(gate, word, in: self) {
        gate.pointee.destroy = nil
      }
      guard isSettledAtOnceLocked(gate, word) else {
        pointee.lock.unlock()
        break
      }
      if let next = nextBareLocked(after: gate, budget) {
        pointee.finished += 1
        beginBareLocked(next, gate)
        chunk = pointee.buffer.head
        continue
      }
      settleAtOnceLocked(gate)
      if gate.pointee.destroy != nil && !destroyContextLocked(of: gate, &budget) { return .stop }
      gate.pointee.flags = []
      return keepOrDrop(gate, &budget) ? .goOn : .stop
    }
    // The slot is the operation's from now on. Until the lane has settled it, it stays; after that
    // it may be gone.
    Engine.current.pointee.gates.wrappingSubtract(1, ordering: .relaxed)
    gate.addReference()
    return settleReturned(gate, gate.set(.returned), &budget)
  }

  /// Makes a job that was taken out of the buffer the gate's operation, which has started.
  @inline(__always)
  private func beginBareLocked(_ job: Job, _ gate: OperationSlot.Pointer) {
    pointee.pending -= 1
    gate.pointee.flags = []
    gate.pointee.work = job.work
    gate.pointee.context = job.context
    gate.pointee.destroy = job.destroy
    // Without the marks that callers have left on the last one.
    gate.pointee.word.store(
      OperationWord(generation: gate.loadWord().generation + 1, .started).bits,
      ordering: .releasing)
    Batch.willStart(job, gate.handle(.token))
  }

  /// Takes out what the drainer would start next with another gate like this one, whose operation
  /// has finished; nil when it has to look what is next.
  @inline(__always)
  private func nextBareLocked(
    after gate: OperationSlot.Pointer, _ budget: DrainBudget
  ) -> Job? {
    // The gate's operation, which is over, still has its place: as many as the limit may run.
    guard pointee.machine.traits.contains(.limited),
      pointee.machine.running <= pointee.extra.unsafelyUnwrapped.pointee.settings.limit,
      pointee.machine.goesStraightOn, budget.outbox.isEmpty, order == nil, budget.remaining > 0,
      gate.isClean, gate.pointee.destroy == nil,
      gate.loadWord().generation < OperationSlot.lastGeneration,
      let chunk = pointee.buffer.front(), !chunk.first.work.isNone,
      !chunk.first.isTakenOut,
      !othersWaitLocked
    else { return nil }
    return pointee.buffer.pop()
  }

  /// Whether an operation has finished within its call, and nobody has to be told of that but those
  /// that come after it. Else it has to be settled the long way.
  @inline(__always)
  func isSettledAtOnceLocked(_ slot: OperationSlot.Pointer, _ word: OperationWord) -> Bool {
    let details = slot.pointee.details
    let flags = slot.pointee.flags.subtracting([.untimed, .obstinate])
    guard word.isSimplyFinished, flags.isEmpty, slot.pointee.resultDestroy == nil,
      details == nil || details.unsafelyUnwrapped.pointee.isLean,
      !pointee.machine.traits.contains(.view),
      pointee.machine.flags.isDisjoint(
        with: [.destroyed, .isObserved, .watched, .hasDeliveries])
    else { return false }
    // They are told first: the callback may be a long one.
    return slot.pointee.destroy == nil || details?.pointee.firstEdge == nil
  }

  /// Settles such an operation.
  @inline(__always)
  func settleAtOnceLocked(_ slot: OperationSlot.Pointer) {
    slot.pointee.flags.formUnion([.counted, .placeReleased, .inDelivery])
    pointee.finished += 1
    removeRunningLocked(slot)
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
      releaseEdgesLocked(slot, &budget.outbox)
      tellOwnLocked(&budget.outbox)
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
      pointee.machine.canStartNext(limit: pointee.extra.unsafelyUnwrapped.pointee.settings.limit),
      !budget.outbox.hasNews, budget.remaining > 0, !othersWaitLocked
    else { return nil }
    edge.pointee.next = nil
    edge.pointee.earlier = nil
    plan.pointee.blockers = 0
    plan.pointee.attempts = 1
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
    unlockForCall(&budget)
    executor?.submit(ReadyRing.Item(lane: self))
    budget.remaining -= 1
    slot.pointee.destroy.unsafelyUnwrapped(slot.pointee.context)
    slot.pointee.destroy = nil
    return relock(budget)
  }
}
