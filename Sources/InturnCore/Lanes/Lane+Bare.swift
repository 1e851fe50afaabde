import CInturnSystem
import Synchronization

/// Operations without options or handle, on a lane that runs several at a time; and the short way
/// to settle an operation that finished within its call.
extension UnsafeMutablePointer<Lane> {
  /// Starts an operation that has no slot, in the drainer's gate. While each operation finishes
  /// within its call and the next one has no slot either, they share the gate, which keeps its
  /// place among the running slots.
  @_optimize(speed)
  func runBareLocked(_ job: Job, _ budget: inout DrainBudget) -> Progress {
    let gate = budget.takeGate(for: self)
    beginBareLocked(job, gate)
    addRunningLocked(gate)
    var chunk = pointee.buffer.head
    while true {
      countStartLocked()
      callLocked(gate, &budget)
      // Prefetches the chunk, so that its cache line and the lane's arrive from the other processor
      // at the same time.
      inturn_system_prefetch(chunk)
      if !budget.isStillOurs { return .stop }
      if Recorder.isOn { gate.traceReturned() }
      let word = gate.loadWord()
      guard word.contains(.ended) else { break }
      if Batch.takeDownAtOnce(gate, word) { gate.pointee.destroy = nil }
      // Destroying a context counts as a call.
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
    // From here on, the slot belongs to the operation. It stays until the lane has settled the
    // operation, and may be gone afterwards.
    Engine.current.pointee.gates.wrappingSubtract(1, ordering: .relaxed)
    gate.addReference()
    return settleReturned(gate, gate.set(.returned), &budget)
  }

  /// Makes a job, which has left the buffer, the gate's operation and marks it as started.
  @inline(__always)
  private func beginBareLocked(_ job: Job, _ gate: OperationSlot.Pointer) {
    pointee.pending -= 1
    gate.pointee.flags = []
    gate.pointee.work = job.work
    gate.pointee.context = job.context
    gate.pointee.destroy = job.destroy
    // Clears the marks that callers have left on the previous operation.
    gate.pointee.word.store(
      OperationWord(generation: gate.loadWord().generation + 1, .started).bits,
      ordering: .releasing)
    if Recorder.isOn { traceStartedLocked(gate, isPlain: true) }
    Batch.willStart(job, gate.handle(.token))
  }

  /// Takes out the job that the drainer would start next in this gate, whose operation has
  /// finished. Nil when the drainer has to look for the next operation the long way.
  @inline(__always)
  private func nextBareLocked(
    after gate: OperationSlot.Pointer, _ budget: DrainBudget
  ) -> Job? {
    // The gate's operation is over but still counts as running: hence `<=`.
    guard pointee.machine.traits.contains(.limited),
      pointee.machine.running <= pointee.extra.unsafelyUnwrapped.pointee.settings.limit,
      pointee.machine.goesStraightOn, budget.outbox.isEmpty, order == nil, budget.remaining > 0,
      gate.isClean, gate.pointee.destroy == nil,
      gate.loadWord().generation < OperationSlot.lastGeneration,
      let chunk = pointee.buffer.front(), !chunk.first.work.isNone,
      !chunk.first.isTakenOut,
      !givesWayLocked(budget)
    else { return nil }
    return pointee.buffer.pop()
  }

  /// Whether an operation finished within its call and only its dependents have to be told.
  /// Otherwise it is settled the long way.
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
    // With a context to destroy, dependents are told first: the callback may take long.
    return slot.pointee.destroy == nil || details?.pointee.firstEdge == nil
  }

  /// Settles an operation for which `isSettledAtOnceLocked` holds.
  @inline(__always)
  func settleAtOnceLocked(_ slot: OperationSlot.Pointer) {
    slot.pointee.flags.formUnion([.counted, .placeReleased, .inDelivery])
    pointee.finished += 1
    removeRunningLocked(slot)
  }

  /// Tells the dependents of an operation that has finished and is settled. A single dependent that
  /// can start becomes this drainer's next operation, without being put anywhere, if nothing else
  /// is to be started, called or told.
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
      !budget.outbox.hasNews, budget.remaining > 0, !givesWayLocked(budget)
    else { return nil }
    if Recorder.isOn { traceReleasedLocked(edge) }
    edge.pointee.next = nil
    edge.pointee.earlier = nil
    plan.pointee.blockers = 0
    plan.pointee.attempts = 1
    order.unblock(later)
    // Not the last reference: the operation is pending.
    later.pointee.references.wrappingSubtract(1, ordering: .relaxed)
    return later
  }

  /// Destroys the context of a settled operation. Called with the lock, which it releases and takes
  /// again. False in a forked child, or when the process exits.
  func destroyContextLocked(
    of slot: OperationSlot.Pointer, _ budget: inout DrainBudget
  ) -> Bool {
    unlockForCall(&budget)
    budget.remaining -= 1
    slot.pointee.destroy.unsafelyUnwrapped(slot.pointee.context)
    slot.pointee.destroy = nil
    return relock(budget)
  }
}
