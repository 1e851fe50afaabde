/// Operations of batches that depend on others in the same batch.
///
/// On a lane that runs several at a time, held operations without slots exist only in their batch's
/// graph, but count as pending on the lane. Those with slots are blocked like others, with one
/// blocker more.
extension UnsafeMutablePointer<Lane> {
  /// An operation of a batch without slots has ended: tells some of its dependents. Those that are
  /// no longer held become startable.
  @inline(__always)
  func tellLaterLocked(_ graph: BatchGraph.Pointer, _ place: Int, _ told: Range<Int>) {
    let before = graph.pointee.held
    let batch = graph.pointee.batch
    graph.pointee.tellLater(of: place, told) { node, _ in
      let job = batch._withUnsafeGuaranteedRef { $0.job(at: node) }
      // Goes before a fence, as the batch was enqueued before it.
      _ =
        order?.push(job, priority: 0, isOwed: true) ?? pointee.buffer.append(job, isOwed: true)
    }
    pointee.extra.unsafelyUnwrapped.pointee.graphs.release(
      before - graph.pointee.held, of: graph)
  }

  /// An operation of a batch has ended: tells its dependents, a portion at a time. Called without a
  /// lock; the caller keeps the batch alive.
  func tellLater(
    _ graph: BatchGraph.Pointer, _ place: Int, isFinished: Bool, generation: UInt32
  ) -> Status {
    var told = 0
    while true {
      pointee.lock.lock()
      if let refusal = refusalLocked(generation) { return refusal }
      let count = graph.pointee.laterCount(of: place)
      let next = Swift.min(told + Self.portionOfGraph, count)
      var outbox = Outbox()
      var slots: [OperationSlot.Pointer] = []
      if graph.pointee.hasSlots {
        slots = tellSlotsLocked(graph, place, told..<next, isFinished, &outbox)
      } else {
        tellLaterLocked(graph, place, told..<next)
      }
      unlock(&outbox)
      for slot in slots { slot.dropReference() }
      told = next
      if told == count { return .ok }
    }
  }

  /// The same for a batch with slots. The caller drops a reference of each slot once it has
  /// released the lock.
  private func tellSlotsLocked(
    _ graph: BatchGraph.Pointer, _ place: Int, _ told: Range<Int>, _ isFinished: Bool,
    _ outbox: inout Outbox
  ) -> [OperationSlot.Pointer] {
    var slots: [OperationSlot.Pointer] = []
    let batch = graph.pointee.batch
    graph.pointee.tellLater(of: place, told, isFinished: isFinished) { node, change in
      guard let slot = batch._withUnsafeGuaranteedRef({ $0.slot(at: node) }) else { return }
      slots.append(slot)
      if slot.loadWord().contains(.claimed) { return }
      switch change {
      case .ready: unblockLocked(slot, slot.plan!, &outbox)
      case .lost: cutOffLocked(slot, .cancelled, .dependency, &outbox)
      }
    }
    return slots
  }

  /// How many dependents are told before the lock is released for others.
  static var portionOfGraph: Int { 64 }

  // MARK: Cancelling

  /// Takes everything out that a graph without slots holds, as cancelled. The time does not depend
  /// on how much that is: deliveries destroy the contexts, one by one.
  func cancelLocked(_ graph: BatchGraph.Pointer) {
    if graph.pointee.hasSlots || graph.pointee.isCancelled || graph.pointee.held == 0 { return }
    let extra = pointee.extra.unsafelyUnwrapped
    let held = extra.pointee.graphs.cancel(graph)
    pointee.machine.flags.insert(.hasDeliveries)
    pointee.pending -= held
    extra.pointee.ends.add(.cancelled, UInt64(held))
  }

  /// Destroys the context of one operation that was cancelled while held. Called with the lock,
  /// which it releases and takes again. False in a forked child, or when the process exits.
  func deliverHeldLocked(_ graph: BatchGraph.Pointer, _ budget: inout DrainBudget) -> Bool {
    let place = graph.pointee.takeHeld()
    // The batch may be gone after its last operation.
    if graph.pointee.held == 0 {
      pointee.extra.unsafelyUnwrapped.pointee.graphs.firstCancelledIsEmpty()
      noteDeliveriesLocked()
    }
    guard let place else { return true }
    let job = graph.pointee.batch._withUnsafeGuaranteedRef { $0.job(at: place) }
    job.markTakenOut()
    budget.remaining -= 1
    unlockForCall(&budget)
    job.destroy.unsafelyUnwrapped(job.context)
    return relock(budget)
  }
}
