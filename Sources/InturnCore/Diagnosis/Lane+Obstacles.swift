/// What blocks a lane, and each of its operations, as far as its lock shows.
extension UnsafeMutablePointer<Lane> {
  enum Obstacle {
    case nothing, suspended, pace, executor, offer, callback
    /// Running work has to end, or to return from its call.
    case running(inCall: Bool)
    case blocked(OperationSlot.Pointer)
  }

  /// What keeps the lane from starting pending work, or from being quiet.
  var obstacleLocked: Obstacle {
    let machine = pointee.machine
    if pointee.pending == 0 {
      // What is called of an actor may continue one whose own call has returned.
      let isInSegment = machine.active > 0 && machine.traits.contains(.segments)
      if machine.running > 0 { return .running(inCall: isInSegment) }
      return awaitsExecutorLocked ? .executor : .callback
    }
    if machine.flags.contains(.suspended) { return .suspended }
    if isHeldByPaceLocked { return .pace }
    if machine.running >= view.limit { return .running(inCall: false) }
    if hasJobsLocked && !machine.flags.contains(.headBlocked) {
      if awaitsExecutorLocked { return .executor }
      if machine.flags.contains(.offered) { return .offer }
      return machine.running > 0 ? .running(inCall: true) : .callback
    }
    if let blocked = firstBlockedLocked { return .blocked(blocked) }
    // A barrier, or operations that come after others of their batch.
    if machine.running > 0 { return .running(inCall: false) }
    if awaitsExecutorLocked { return .executor }
    return machine.active > 0 ? .callback : .nothing
  }

  var awaitsExecutorLocked: Bool {
    pointee.machine.scheduled > 0 && pointee.machine.active == 0
  }

  private var firstBlockedLocked: OperationSlot.Pointer? {
    let first = isSelective ? order?.firstBeforeLevels()?.slot : firstSlotLocked()
    let head = first.flatMap { $0.blockers > 0 ? $0 : nil }
    if let head, pointee.machine.flags.contains(.headBlocked) { return head }
    if let order, let blocked = order.firstBlocked { return blocked }
    if let fence = order?.pointee.fence, fence.blockers > 0 { return fence }
    return head
  }

  /// Whether an operation still waits for others of its batch. The caller has a reference to it.
  func waitsInBatch(_ slot: OperationSlot.Pointer) -> Bool {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    return slot.lane == self && slot.loadWord().isPending && slot.blockers > 0
      && Batch.entry(slot.pointee.destroy, slot.pointee.context) != nil
  }

  /// An operation of the same batch that has to end before this pending one, with a reference. The
  /// caller has a reference to the pending one.
  func earlierInBatch(of slot: OperationSlot.Pointer) -> OperationSlot.Pointer? {
    pointee.lock.lock()
    defer { pointee.lock.unlockAfterReadingObject() }
    return slot.lane == self && slot.loadWord().isPending ? Batch.earlierLocked(of: slot) : nil
  }

  /// Why nothing pending starts; `none` if nothing is pending or work may start.
  var causeLocked: StallLink.Cause {
    if waitingCountLocked == 0 { return .none }
    switch obstacleLocked {
    case .nothing: return .none
    case .suspended: return .suspended
    case .pace: return causeOfPaceLocked
    case .executor: return causeOfExecutorLocked
    case .offer: return .task
    case .callback: return .callback
    case .running: return .turn
    case .blocked(let slot): return causeLocked(ofPending: slot)
    }
  }

  var causeOfPaceLocked: StallLink.Cause {
    if pointee.extra?.pointee.pace?.pointee.nextStart == nil { return .view }
    return hasOwnClock ? .clock : .delay
  }

  /// Where its drainers wait: what was given to an executor stays there when it gets another one.
  var awaitedExecutorLocked: Executor {
    let former = pointee.extra?.pointee.executors.former(of: pointee.machine.scheduled)
    return former.map { Unmanaged.fromOpaque($0).takeUnretainedValue() } ?? executor
  }

  var causeOfExecutorLocked: StallLink.Cause {
    awaitedExecutorLocked is WorkerPool ? .pool : .executor
  }

  /// Why a pending operation does not start.
  func causeLocked(ofPending slot: OperationSlot.Pointer) -> StallLink.Cause {
    guard let plan = slot.plan, plan.pointee.blockers > 0 else { return .turn }
    if plan.pointee.retryAt != Int64.max { return hasOwnClock ? .clock : .delay }
    return plan.pointee.names?.pointee.isMade == true ? .name : .after
  }

  /// Why a started operation does not end; `none` if it is just ending.
  func causeLocked(ofRunning word: OperationWord) -> StallLink.Cause {
    if word.contains(.placeHeld) { return .place }
    if word.contains(.claimed) { return word.contains(.returned) ? .none : .call }
    if executor is OutsideExecutor || word.contains(.isTask) { return .task }
    return word.contains(.returned) ? .token : .call
  }
}
