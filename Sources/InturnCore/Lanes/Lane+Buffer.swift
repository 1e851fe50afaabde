import Synchronization

/// Where a lane keeps its pending operations. All of these are called with the lane locked.
///
/// A lane has one buffer. It gets a `LaneOrder` as well when an operation comes that cannot go to
/// the end of the buffer. From then on, a selective lane keeps everything in the order. Any other
/// lane keeps its buffer, and the order holds only what goes before it.
extension UnsafeMutablePointer<Lane> {
  /// Whether the lane may start a later operation before an earlier one.
  @inline(__always)
  var isSelective: Bool { pointee.machine.traits.contains(.selective) }

  @inline(__always)
  var order: UnsafeMutablePointer<LaneOrder>? { pointee.extra?.pointee.backlog.order }

  /// The order, made if there is none yet.
  func needOrder() -> UnsafeMutablePointer<LaneOrder> {
    let extra = needExtra()
    if let order = extra.pointee.backlog.order { return order }
    let order = UnsafeMutablePointer<LaneOrder>.allocate(capacity: 1)
    order.initialize(to: LaneOrder())
    if isSelective {
      order.adopt(pointee.buffer)
      pointee.buffer = JobBuffer()
    }
    extra.pointee.backlog.order = order
    return order
  }

  var hasJobsLocked: Bool {
    @inline(__always) get {
      guard let order else { return !pointee.buffer.isEmpty }
      return hasJobsLocked(order)
    }
  }

  @_optimize(speed)
  @inline(never)
  private func hasJobsLocked(_ order: UnsafeMutablePointer<LaneOrder>) -> Bool {
    let extra = pointee.extra.unsafelyUnwrapped
    let isFree = pointee.machine.running == 0 && extra.pointee.graphs.count == 0
    return order.hasStartable(isFree: isFree) || !pointee.buffer.isEmpty
  }

  /// Appends a job to those of priority zero. False when memory runs out.
  @inline(__always)
  func appendLocked(_ job: Job, isOwed: Bool = false) -> Bool {
    let isAppended =
      isSelective && order != nil
      ? appendInOrderLocked(job, isOwed: isOwed) : pointee.buffer.append(job, isOwed: isOwed)
    // Cannot overflow: `admitLocked` bounds the count.
    if isAppended { pointee.pending &+= 1 }
    return isAppended
  }

  /// Appends `count` jobs to those of priority zero.
  func spliceLocked(_ jobs: inout JobBuffer, _ count: Int) {
    if isSelective, let order {
      order.append(&jobs)
    } else {
      pointee.buffer.append(&jobs)
    }
    pointee.pending += UInt32(count)
  }

  @inline(never)
  private func appendInOrderLocked(_ job: Job, isOwed: Bool) -> Bool {
    let order = order.unsafelyUnwrapped
    if order.pointee.fence != nil { return order.putBehind(job, isOwed: isOwed) }
    return order.push(job, priority: 0, isOwed: isOwed)
  }

  /// Appends a segment or a further attempt on an actor lane. If the next operation there is
  /// blocked, this one goes before it: the blocked one may wait for just this. False when memory
  /// runs out.
  func appendBegunLocked(_ job: Job, isOwed: Bool = false) -> Bool {
    let extra = needExtra()
    if let order, pointee.machine.flags.contains(.headBlocked) || !order.pointee.front.isEmpty {
      pointee.machine.flags.remove(.headBlocked)
      return order.pointee.front.append(job, isOwed: isOwed)
    }
    extra.pointee.backlog.mayHaveBegun = true
    pointee.machine.flags.remove(.headBlocked)
    return pointee.buffer.append(job, isOwed: isOwed)
  }

  /// Moves an actor lane's segments and further attempts before the operation that is blocked.
  /// False when there are none.
  func bringBegunForwardLocked() -> Bool {
    guard let extra = pointee.extra, extra.pointee.backlog.mayHaveBegun else { return false }
    extra.pointee.backlog.mayHaveBegun = false
    let order = needOrder()
    var budget = Int.max
    if Recorder.isOn { traceLocked(.moved) }
    _ = pointee.buffer.squeeze(nil, isRead: false, &budget) { job in
      guard let slot = job.slot, slot.hasBegun else { return false }
      _ = order.pointee.front.append(job, isOwed: true)
      return true
    }
    return !order.pointee.front.isEmpty
  }

  /// Puts an operation with a plan where it belongs. False when memory runs out.
  @_optimize(speed)
  func placeLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer, _ outbox: inout Outbox,
    isOwed: Bool = false
  ) -> Bool {
    let isPlain = plan.pointee.priority == 0 && !plan.pointee.isBarrier && !plan.pointee.isUrgent
    if !isSelective || (isPlain && plan.pointee.blockers == 0) {
      return appendLocked(Job(slot: slot), isOwed: isOwed)
    }
    let order = needOrder()
    // An urgent operation goes before a blocked one.
    if plan.pointee.isUrgent { pointee.machine.flags.remove(.headBlocked) }
    let isPlaced =
      order.pointee.fence != nil
      ? order.putBehind(Job(slot: slot), isOwed: isOwed) : order.admit(slot, isOwed: isOwed)
    if isPlaced { pointee.pending += 1 }
    if isPlaced && plan.pointee.isUrgent { askToGiveWayLocked(&outbox) }
    return isPlaced
  }

  /// Calls `body` with each pending job, those of the order first, until it returns false. False
  /// when it has.
  func forEachPendingLocked(_ body: (Job) -> Bool) -> Bool {
    (order?.forEach(body) ?? true) && pointee.buffer.forEach(body)
  }

  /// The next job of a lane that takes jobs strictly in order.
  @_optimize(speed)
  func firstJobLocked() -> Job? {
    if let order, let job = order.pointee.front.first() { return job }
    return frontLocked()?.first
  }

  /// This pending operation has ended, or nothing blocks it any more. If it stands first, the lane
  /// is not blocked by it; what stands behind a blocked one changes nothing.
  func headMayGoOnLocked(_ slot: OperationSlot.Pointer) {
    if pointee.machine.flags.contains(.headBlocked), isSelective || firstSlotLocked() == slot {
      pointee.machine.flags.remove(.headBlocked)
    }
  }

  /// The next job's slot, if it has one.
  func firstSlotLocked() -> OperationSlot.Pointer? { firstJobLocked()?.slot }

  @inline(__always)
  func frontLocked() -> Chunk.Pointer? {
    pointee.buffer.front(isRead: pointee.machine.flags.contains(.bursting))
  }

  /// Takes the next job out, or nil.
  @_optimize(speed)
  func popLocked() -> Job? {
    if let order, let job = order.pop(ages: pointee.machine.traits.contains(.aging)) { return job }
    return pointee.buffer.pop()
  }

  /// Once more than half of the jobs are tombstones of single cancels, squeezes some of them out.
  /// Each cancel continues the current round, so a queue that stands still while operations are
  /// enqueued and cancelled does not grow.
  func compactLocked() {
    guard let extra = pointee.extra, extra.pointee.backlog.tombstones > 64,
      extra.pointee.backlog.tombstones > pointee.pending
    else { return }
    func isDead(_ job: Job) -> Bool {
      if let slot = job.slot {
        guard slot.loadWord().contains(.claimed) else { return false }
        slot.dropReference()
      } else {
        guard job.isTakenOut else { return false }
        Batch.buryTombstoneLocked(job, in: &extra.pointee.backlog.graveyard)
        noteDeliveriesLocked()
      }
      extra.pointee.backlog.tombstones -= 1
      return true
    }
    // A chunk is squeezed as a whole, so the budget may go negative; the cancels that follow then
    // squeeze nothing.
    let pay = 64
    extra.pointee.backlog.squeezeBudget = Swift.min(extra.pointee.backlog.squeezeBudget + pay, pay)
    let round = extra.pointee.backlog.round
    if Recorder.isOn { traceLocked(.moved) }
    guard extra.pointee.backlog.squeezeBudget > 0,
      pointee.buffer.squeeze(
        round, isRead: pointee.machine.flags.contains(.bursting),
        &extra.pointee.backlog.squeezeBudget,
        where: isDead),
      order?.squeeze(round, &extra.pointee.backlog.squeezeBudget, where: isDead) != false
    else { return }
    extra.pointee.backlog.round = round &+ 1
  }

  /// Removes a pending operation that has just been cut off: at once where possible, otherwise as a
  /// tombstone.
  func removePendingLocked(_ slot: OperationSlot.Pointer) {
    pointee.pending -= 1
    // It may be the operation that was offered.
    pointee.machine.flags.remove(.offered)
    headMayGoOnLocked(slot)
    if let groups = slot.groups, groups.pointee.isFollowing {
      groups.pointee.party!.remove(slot)
    }
    if let order, order.remove(slot) {
      // Drops the buffer's reference; the engine's remains.
      slot.pointee.references.wrappingSubtract(1, ordering: .relaxed)
      return
    }
    needExtra().pointee.backlog.tombstones += 1
    compactLocked()
  }
}
