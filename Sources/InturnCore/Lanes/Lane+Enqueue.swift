import CInturnSystem

/// Adds work to a lane. The caller destroys the context when it is refused.
extension UnsafeMutablePointer<Lane> {
  /// Adds an operation without options or handle.
  @inline(__always)
  func enqueue(
    generation: UInt32, work: Work, context: UnsafeMutableRawPointer?,
    destroy: RawDestroy?, isObstinate: Bool = false, isOwed: Bool = false
  ) -> Status {
    pointee.lock.lock()
    let refusal = admitLocked(generation)
    if refusal != .ok {
      pointee.lock.unlock()
      return refusal
    }
    let job = Job(work: work, context: context, destroy: destroy)
    if !pointee.machine.flags.isDisjoint(with: [.isObserved, .recorded]),
      let status = enqueueSlowlyLocked(generation, job, isOwed: isOwed)
    {
      return status
    }
    if !appendLocked(job, isOwed: isOwed) {
      pointee.lock.unlock()
      return .noMemory
    }
    if isObstinate { needExtra().pointee.backlog.hasObstinate = true }
    unlock()
    return .ok
  }

  /// The same when the queue has an observer, who is told of each operation. Nil, with the lock
  /// held, when it has none: what is recorded has its record, and is still to be appended.
  @_optimize(speed)
  @inline(never)
  private func enqueueSlowlyLocked(_ generation: UInt32, _ job: Job, isOwed: Bool) -> Status? {
    if pointee.machine.flags.contains(.isObserved) { return enqueueObservedLocked(generation, job) }
    if isRecordedLocked { traceAppendLocked(job, isOwed: isOwed) }
    return nil
  }

  @inline(never)
  private func enqueueObservedLocked(_ generation: UInt32, _ job: Job) -> Status {
    pointee.lock.unlock()
    return withUnsafePointer(to: OperationOptions()) {
      enqueue(
        generation: generation, options: $0, work: job.work, context: job.context,
        destroy: job.destroy, wantsHandle: false
      ).0
    }
  }

  /// Adds an operation with options, or one whose handle the caller wants. When its owner refuses it,
  /// the handle is the owner's.
  @_optimize(speed)
  func enqueue(
    generation: UInt32, options: UnsafePointer<OperationOptions>?, work: Work,
    context: UnsafeMutableRawPointer?, destroy: RawDestroy?, wantsHandle: Bool,
    flags: OperationSlot.Flags = []
  ) -> (Status, Handle) {
    var operation = Handle(bits: 0)
    let status = OperationSlot.Pointer.withEarlier(options?.pointee.after) { earlier in
      let (status, handle) = enqueue(
        generation, options, work, context, destroy, wantsHandle: wantsHandle, flags: flags,
        earlier: earlier)
      operation = handle
      return status
    }
    return (status, operation)
  }

  /// `earlier`: the operations that it depends on, of which the caller holds references.
  @_optimize(speed)
  private func enqueue(
    _ generation: UInt32, _ options: UnsafePointer<OperationOptions>?, _ work: Work,
    _ context: UnsafeMutableRawPointer?, _ destroy: RawDestroy?, wantsHandle: Bool,
    flags: OperationSlot.Flags, earlier: UnsafeBufferPointer<OperationSlot.Pointer>
  ) -> (Status, Handle) {
    // Does as much as possible before it takes the lock. The references are the engine's, the
    // buffer's and the handle's.
    let references: UInt32 = wantsHandle ? 3 : 2
    guard
      let slot = OperationSlot.Pointer.take(
        for: self, generation, .observed, references: references)
    else { return (.noMemory, Handle(bits: 0)) }
    slot.pointee.work = work
    slot.pointee.context = context
    slot.pointee.destroy = destroy
    slot.pointee.flags = flags
    if !flags.contains(.untimed) { slot.pointee.enqueuedAt = inturn_system_now() }
    if let options, !slot.giveDetails(options, earlier: earlier.count) {
      slot.discard(references)
      return (.noMemory, Handle(bits: 0))
    }
    let handle = slot.handle(.operation)
    let plan = slot.plan
    // A few dependencies on this lane are linked under the lock that is taken anyway.
    let areAllHere = earlier.count <= Self.portion && earlier.allSatisfy { $0.lane == self }
    pointee.lock.lock()
    var outbox = Outbox()
    var status = admitLocked(generation)
    if status == .ok, let plan, !canHonourLocked(plan) { status = .unsupported }
    var refusing = Handle(bits: 0)
    if status == .ok {
      status = enterGroupsLocked(slot)
      if status != .ok, let owner = options?.pointee.owner { refusing = owner.handle }
    }
    if status == .ok && !settleInLocked(slot, &outbox) {
      leaveGroupsLocked(slot)
      status = .noMemory
    }
    if status != .ok {
      pointee.lock.unlock()
      slot.discard(references)
      return (status, refusing)
    }
    if isRecordedLocked { traceEnqueuedLocked(slot) }
    // A reference for `link`.
    if !areAllHere { slot.addReference() }
    // Only from here on does a handle with these bits name an operation.
    if wantsHandle { _ = slot.set(.handleHeld) }
    if flags.contains(.obstinate) { needExtra().pointee.backlog.hasObstinate = true }
    if hasOwnClock {
      _ = slot.set(.ownClock)
      slot.pointee.enqueuedAt = clock.now
    }
    armForWaitLocked(slot)
    if areAllHere && !earlier.isEmpty { linkLocked(slot, plan!, earlier, &outbox) }
    unlock(&outbox)
    if !areAllHere {
      link(slot, plan!, earlier)
      slot.dropReference()
    }
    return (.ok, handle)
  }

  /// Puts an operation in its place, or makes it join another one. False when memory runs out.
  @_optimize(speed)
  private func settleInLocked(
    _ slot: OperationSlot.Pointer, _ outbox: inout Outbox
  ) -> Bool {
    if slot.pointee.details == nil && pointee.machine.flags.contains(.isObserved) {
      _ = slot.needDetailsLocked()
    }
    let leader = leaderLocked(for: slot)
    let isPlaced =
      leader.map { joinLocked(slot, $0, &outbox) }
      ?? slot.plan.map { placeLocked(slot, $0, &outbox) }
      ?? appendLocked(Job(slot: slot))
    if isPlaced { noteLocked(leader == nil ? .enqueued : .joined, of: slot) }
    return isPlaced
  }

  /// Adds a segment of a running operation on an actor lane, for the attempt with this generation.
  func resume(
    _ slot: OperationSlot.Pointer, generation: UInt32, work: Work,
    context: UnsafeMutableRawPointer?,
    destroy: RawDestroy?
  ) -> Status {
    pointee.lock.lock()
    let word = slot.loadWord()
    if word.generation != generation || word.contains(.claimed) {
      pointee.lock.unlock()
      // A caller who is told that does not come again.
      takePlaceBack(from: slot, generation: generation)
      return .alreadyFinished
    }
    if !pointee.machine.traits.contains(.segments) {
      pointee.lock.unlock()
      return .wrongKind
    }
    guard let segment = OperationSlot.Pointer.take(for: self, pointee.generation, .segment) else {
      pointee.lock.unlock()
      return .noMemory
    }
    segment.pointee.work = work
    segment.pointee.context = context
    segment.pointee.destroy = destroy
    segment.segmentOperation = slot
    segment.segmentGeneration = generation
    guard appendBegunLocked(Job(slot: segment)) else {
      segment.pointee.destroy = nil
      segment.dropReference()
      pointee.lock.unlock()
      return .noMemory
    }
    slot.addReference()
    pointee.pending += 1
    needExtra().pointee.backlog.segments += 1
    if pointee.machine.flags.contains(.rated) { applyPaceLocked() }
    unlock()
    return .ok
  }

  /// Whether the queue accepts `count` more operations.
  @inline(__always)
  func admitLocked(_ generation: UInt32, count: UInt64 = 1) -> Status {
    if pointee.generation != generation { return .stale }
    if pointee.machine.flags.contains(.closed) { return .closed }
    if UInt64(pointee.pending) + count > UInt64(UInt32.max) { return .noMemory }
    guard let extra = pointee.extra, extra.pointee.settings.capacity != 0 else { return .ok }
    return waitingCountLocked + count > extra.pointee.settings.capacity ? .full : .ok
  }

  /// Whether this kind of queue can do what the plan asks for.
  func canHonourLocked(_ plan: OperationPlan.Pointer) -> Bool {
    let traits = pointee.machine.traits
    if plan.pointee.isBarrier && !traits.contains(.barriers) { return false }
    if plan.pointee.isUrgent && !traits.contains(.urgency) { return false }
    return plan.pointee.priority == 0 || traits.contains(.selective)
  }

  /// How many operations are pending, exact even during a burst.
  var waitingCountLocked: UInt64 {
    countBurstLocked()
    return UInt64(pointee.pending) - UInt64(pointee.extra?.pointee.backlog.segments ?? 0)
  }
}
