import CInturnSystem

/// The options of an operation that is enqueued; see `inturn_operation_options`. What they point to is
/// the caller's, until the call returns.
package struct OperationOptions {
  package var label: UnsafePointer<CChar>?
  package var maxWait: Int64 = 0
  package var maxRun: Int64 = 0
  package var freesPlaceAtMaxRun = false
  package var stall: Int64 = 0
  package var grace: Int64 = 0
  package var endCallback = EndCallback()
  /// The others are of operations that do not just wait for their turn.
  package var priority: Int32 = 0
  package var isBarrier = false
  package var isUrgent = false
  /// Operations that end before this one starts.
  package var after = UnsafeBufferPointer<Handle>(start: nil, count: 0)
  /// Whether it ends cancelled when one of those ends otherwise than finished.
  package var needsFinished = false
  /// Of the operations with a name in common, one runs at a time.
  package var names = UnsafeBufferPointer<UnsafePointer<CChar>>(start: nil, count: 0)
  package var condition: RawCondition?
  package var retry: RetryPolicy?
  /// By which it can be found, and others can join it.
  package var key: UnsafePointer<CChar>?
  package var joins = false
  package var owner: Owner?

  package init() {}

  static func withPointer<Result>(
    to options: OperationOptions?, _ body: (UnsafePointer<OperationOptions>?) -> Result
  ) -> Result {
    guard let options else { return body(nil) }
    return withUnsafePointer(to: options, body)
  }
}

/// Adding work to a lane. A refused context is the caller's to destroy.
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
    if pointee.machine.flags.contains(.isObserved) {
      pointee.lock.unlock()
      return enqueueObserved(generation, work, context, destroy)
    }
    if !appendLocked(Job(work: work, context: context, destroy: destroy), isOwed: isOwed) {
      pointee.lock.unlock()
      return .noMemory
    }
    if isObstinate { needExtra().pointee.backlog.hasObstinate = true }
    unlock()
    return .ok
  }

  /// The same where somebody is told the queue's events, and so of each operation.
  @_optimize(speed)
  @inline(never)
  private func enqueueObserved(
    _ generation: UInt32, _ work: Work, _ context: UnsafeMutableRawPointer?,
    _ destroy: RawDestroy?
  ) -> Status {
    withUnsafePointer(to: OperationOptions()) {
      enqueue(
        generation: generation, options: $0, work: work, context: context, destroy: destroy,
        wantsHandle: false
      ).0
    }
  }

  /// Adds an operation with options, or whose handle is asked for.
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

  /// `earlier`: the operations that it comes after, of which the caller has references.
  @_optimize(speed)
  private func enqueue(
    _ generation: UInt32, _ options: UnsafePointer<OperationOptions>?, _ work: Work,
    _ context: UnsafeMutableRawPointer?, _ destroy: RawDestroy?, wantsHandle: Bool,
    flags: OperationSlot.Flags, earlier: UnsafeBufferPointer<OperationSlot.Pointer>
  ) -> (Status, Handle) {
    // All that can be done before the lock is.
    // The engine's, the buffer's, the handle's.
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
    // A few of this lane are linked while it is locked anyway.
    let areAllHere = earlier.count <= Self.portion && earlier.allSatisfy { $0.lane == self }
    pointee.lock.lock()
    var outbox = Outbox()
    var status = admitLocked(generation)
    if status == .ok, let plan, !canHonourLocked(plan) { status = .unsupported }
    if status == .ok { status = enterGroupsLocked(slot) }
    if status == .ok && !settleInLocked(slot, &outbox) {
      leaveGroupsLocked(slot)
      status = .noMemory
    }
    if status != .ok {
      pointee.lock.unlock()
      slot.discard(references)
      return (status, Handle(bits: 0))
    }
    // For `link`.
    if !areAllHere { slot.addReference() }
    // Only now does a handle with these bits name an operation.
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

  /// Puts an operation in its place, or has it join another one. False when memory runs out.
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

  /// Adds a segment of a running operation of an actor lane, whose attempt has this generation.
  func resume(
    _ slot: OperationSlot.Pointer, generation: UInt32, work: Work,
    context: UnsafeMutableRawPointer?,
    destroy: RawDestroy?
  ) -> Status {
    pointee.lock.lock()
    let word = slot.loadWord()
    if word.generation != generation || word.contains(.claimed) {
      pointee.lock.unlock()
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

  /// Whether the queue takes so many operations more.
  @inline(__always)
  func admitLocked(_ generation: UInt32, count: UInt64 = 1) -> Status {
    if pointee.generation != generation { return .stale }
    if pointee.machine.flags.contains(.closed) { return .closed }
    if UInt64(pointee.pending) + count > UInt64(UInt32.max) { return .noMemory }
    guard let extra = pointee.extra, extra.pointee.settings.capacity != 0 else { return .ok }
    return waitingCountLocked + count > extra.pointee.settings.capacity ? .full : .ok
  }

  /// Whether this kind of queue has a place for what the plan asks.
  func canHonourLocked(_ plan: OperationPlan.Pointer) -> Bool {
    let traits = pointee.machine.traits
    if plan.pointee.isBarrier && !traits.contains(.barriers) { return false }
    if plan.pointee.isUrgent && !traits.contains(.urgency) { return false }
    return plan.pointee.priority == 0 || traits.contains(.selective)
  }

  /// Operations that are pending just now, also during a burst.
  var waitingCountLocked: UInt64 {
    countBurstLocked()
    return UInt64(pointee.pending) - UInt64(pointee.extra?.pointee.backlog.segments ?? 0)
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  /// Takes options over, before the slot is in a lane. `earlier`: how many operations it comes after;
  /// `isHeld`: its batch holds it, too. False when memory runs out.
  @_optimize(speed)
  func giveDetails(
    _ options: UnsafePointer<OperationOptions>, earlier: Int, isHeld: Bool = false
  ) -> Bool {
    guard let (details, plan) = OperationDetails.make(options, earlier: earlier, isHeld: isHeld)
    else { return false }
    pointee.details = details
    if options.pointee.key != nil || options.pointee.owner != nil {
      details.pointee.groups = OperationGroups.make(
        key: options.pointee.key.map(Bytes.init), owner: options.pointee.owner,
        joins: options.pointee.joins)
    }
    guard let plan else { return true }
    if plan.pointee.retry != nil { _ = set(.retries) }
    if earlier > 0 { plan.pointee.blockers = UInt32(earlier) + 1 }
    if isHeld { plan.pointee.blockers += 1 }
    return true
  }

  /// Lets go of the slot of an operation that was not accepted, whose contexts are the caller's,
  /// and of the references that it was taken with.
  func discard(_ references: UInt32) {
    pointee.destroy = nil
    dropReferences(references)
  }
}

extension OperationDetails {
  /// The details of an operation with these options, its plan if it needs one, its edges and its label:
  /// in one piece of memory, which is the details'. Nil when there is none.
  @_optimize(speed)
  fileprivate static func make(
    _ options: UnsafePointer<OperationOptions>, earlier: Int, isHeld: Bool
  ) -> (UnsafeMutablePointer<OperationDetails>, OperationPlan.Pointer?)? {
    let needsPlan = isHeld || OperationPlan.isNeeded(options, earlier: earlier)
    // All are made of words, so that each one's stride keeps the next one aligned.
    let planAt = MemoryLayout<OperationDetails>.stride
    let edgesAt = planAt + (needsPlan ? MemoryLayout<OperationPlan>.stride : 0)
    let labelAt = edgesAt + earlier * MemoryLayout<Edge>.stride
    let labelSize = options.pointee.label.map { strlen($0) + 1 } ?? 0
    // Not `allocate`, which takes a slower way for memory of no type. The details' `deallocate` frees
    // it, as it frees all that is not aligned to more than a word or two.
    guard let memory = malloc(labelAt + labelSize) else { return nil }
    let details = memory.bindMemory(to: OperationDetails.self, capacity: 1)
    details.initialize(to: OperationDetails())
    details.take(options)
    if let label = options.pointee.label {
      details.pointee.label = (memory + labelAt).bindMemory(to: CChar.self, capacity: labelSize)
      memcpy(memory + labelAt, label, labelSize)
    }
    if !needsPlan { return (details, nil) }
    let plan = (memory + planAt).bindMemory(to: OperationPlan.self, capacity: 1)
    let edges = (memory + edgesAt).bindMemory(to: Edge.self, capacity: earlier)
    plan.initialize(to: OperationPlan())
    plan.take(options, edges: edges)
    details.pointee.plan = plan
    return (details, plan)
  }
}

extension UnsafeMutablePointer<OperationDetails> {
  fileprivate func take(_ options: UnsafePointer<OperationOptions>) {
    pointee.endCallback = options.pointee.endCallback
    pointee.maxWait = options.pointee.maxWait
    pointee.maxRun = options.pointee.maxRun
    pointee.freesPlaceAtMaxRun = options.pointee.freesPlaceAtMaxRun
    pointee.stall = options.pointee.stall
    pointee.grace = options.pointee.grace
  }
}
