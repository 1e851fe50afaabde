/// Operations of batches that come after others of the same batch.
///
/// Those without slots, on a lane that runs several at a time, are in their batch's graph and
/// nowhere else while they are held; they count among the lane's pending ones all the same. Those
/// with slots are blocked as others are, by one thing more.
extension UnsafeMutablePointer<Lane> {
  /// An operation of a batch without slots has ended: tells some of those that come after it. What
  /// is not held any more goes to where it can be started from.
  @inline(__always)
  func tellLaterLocked(_ graph: BatchGraph.Pointer, _ place: Int, _ told: Range<Int>) {
    let before = graph.pointee.held
    let batch = graph.pointee.batch
    graph.pointee.tellLater(of: place, told) { node, _ in
      let job = batch._withUnsafeGuaranteedRef { $0.job(at: node) }
      // Before a fence, as the batch has come before it.
      _ =
        order?.push(job, priority: 0, isOwed: true) ?? pointee.buffer.append(job, isOwed: true)
    }
    pointee.extra.unsafelyUnwrapped.pointee.graphs.release(
      before - graph.pointee.held, of: graph)
  }

  /// An operation of a batch has ended: tells those that come after it, some at a time. No lock is
  /// held; somebody keeps the batch.
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

  /// The same of a batch with slots. The caller drops a reference of each of the slots once it has
  /// given the lock up.
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

  /// How many are told before somebody else may have the lock.
  static var portionOfGraph: Int { 64 }

  // MARK: Cancelling

  /// Takes all that a graph without slots holds out of it, as cancelled. Takes no time for each:
  /// deliveries do that, one by one.
  func cancelLocked(_ graph: BatchGraph.Pointer) {
    if graph.pointee.hasSlots || graph.pointee.isCancelled || graph.pointee.held == 0 { return }
    let extra = pointee.extra.unsafelyUnwrapped
    let held = extra.pointee.graphs.cancel(graph)
    pointee.machine.flags.insert(.hasDeliveries)
    pointee.pending -= held
    extra.pointee.ends.add(.cancelled, UInt64(held))
  }

  /// Destroys the context of one operation that was cancelled while it was held. Called with the
  /// lock, which it gives up and takes again. False when the process is not the same any more.
  func deliverHeldLocked(_ graph: BatchGraph.Pointer, _ budget: inout DrainBudget) -> Bool {
    let place = graph.pointee.takeHeld()
    // The batch may be gone with the last one.
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
