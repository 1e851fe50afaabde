import Synchronization

/// Creates lanes and clears them away.
extension UnsafeMutablePointer<Lane> {
  /// Creates a lane for a new queue; nil when memory runs out. Growing the lanes' slab also
  /// reserves a slot for each lane.
  @_optimize(speed)
  static func make(
    _ traits: LaneTraits, label: UnsafePointer<CChar>?, setUpLocked: (Self) -> Void = { _ in }
  ) -> Handle? {
    let engine = Engine.current
    guard engine.pointee.systemClockReference._withUnsafeGuaranteedRef({ $0.ensureThread() }),
      let (index, lane) = engine.pointee.lanes.take(
        mayGrow: { engine.pointee.operations.keep($0) })
    else { return nil }
    // A lane with its last generation is retired, so there is a next one.
    lane.pointee.lock.lock()
    let generation = (lane.pointee.generation & ~Self.goneBit) + 1
    lane.pointee.machine = LaneMachine(traits)
    lane.pointee.pending = 0
    lane.pointee.finished = 0
    lane.pointee.firstRunning = 0
    lane.pointee.buffer = JobBuffer()
    if let label { lane.pointee.more.setLabel(label.copied()) }
    setUpLocked(lane)
    if !engine.pointee.isAttended.load(ordering: .relaxed) {
      lane.pointee.machine.flags.insert(.unattended)
    }
    if Recorder.isOn { lane.pointee.machine.flags.insert(.recorded) }
    lane.pointee.generation = generation
    lane.pointee.lock.unlock()
    return Handle(.queue, index: index, generation: generation)
  }

  @_optimize(speed)
  static func make(_ options: QueueOptions) -> Handle? {
    if options.stall != .standard { Engine.current.pointee.watchdog.heed(options.stall) }
    return make(options.traits, label: options.label) { $0.applyLocked(options) }
  }

  private func applyLocked(_ options: QueueOptions) {
    let isPlain =
      options.executor == nil && options.clock == nil
      && options.onEvent == nil && options.capacity == 0 && options.rate == nil
      && options.stall == .standard && !options.traits.haveSettings
    if isPlain { return }
    let extra = needExtra()
    extra.pointee.executors = LaneExecutors(options.executor)
    extra.pointee.settings.clock = options.clock.map { Unmanaged.passRetained($0) }
    extra.pointee.settings.capacity = options.capacity
    extra.pointee.settings.limit = options.limit
    extra.pointee.settings.stall = options.stall
    if let onEvent = options.onEvent {
      extra.pointee.events = LaneEvents(onEvent)
      pointee.machine.flags.insert(.isObserved)
    }
    if options.traits.contains(.view) {
      let pace = needPaceLocked()
      pace.pointee.settle = options.settle
      pace.pointee.gap = options.gap
      pace.pointee.isVisible = false
      pointee.machine.flags.insert(.held)
    }
    if let rate = options.rate { changeRateLocked(rate) }
  }

  /// Destroys the queue of this handle.
  @_optimize(speed)
  func destroy(_ handle: Handle) -> Status {
    pointee.lock.lock()
    if let refusal = refusalLocked(handle.generation) { return refusal }
    if pointee.extra == nil && isQuiet && pointee.machine.scheduled == 0
      && pointee.buffer.head == nil
    {
      if mayHaveRecordsLocked { traceGoneLocked() }
      pointee.more.release()
      freeLocked(handle.index, handle.generation, countsOut: true)
      return .ok
    }
    let isInside = CallFrame.isInside(self)
    var wait: WaitGraph.Entry?
    defer { if let wait { WaitGraph.leave(wait) } }
    while !isInside && wait == nil && isInUse {
      pointee.lock.unlock()
      wait = WaitGraph.enter(.calls(of: self))
      if wait == nil { return .deadlock }
      pointee.lock.lock()
      if let refusal = refusalLocked(handle.generation) { return refusal }
    }
    if mayHaveRecordsLocked { traceGoneLocked() }
    // From here on the handle is stale.
    pointee.generation = handle.generation | Self.goneBit
    stopBurstLocked()
    pointee.machine.flags.formUnion([.closed, .destroyed])
    let extra = needExtra()
    extra.pointee.settings.index = handle.index
    Engine.current.pointee.lanes.countOut()
    extra.pointee.quiet.isBeingDestroyed = !isInside
    Engine.releaseUse(of: nil, extra.pointee.settings.clock?.takeUnretainedValue())
    for executor in extra.pointee.executors.all {
      Engine.releaseUse(of: executor.takeUnretainedValue(), nil)
    }
    extra.pointee.quiet.outside += 1
    var outbox = Outbox()
    if let timer = extra.pointee.pace?.pointee.timer { clock.disarm(timer) }
    guard cutOffRunningLocked(&outbox), cancelPendingLocked(.destroyed, &outbox) else {
      return .forked
    }
    extra.pointee.quiet.outside -= 1
    if isInside {
      pointee.lock.unlock()
    } else {
      waitUntilUnusedLocked()
      extra.pointee.quiet.isBeingDestroyed = false
      // What the ends do next is not in that line.
      Site.ofWait = .unknown
      unlock(&outbox)
    }
    return .ok
  }

  /// Whether no queue owns the lane.
  var isGoneLocked: Bool { pointee.generation == 0 || pointee.generation & Self.goneBit != 0 }

  /// Set in the generation of a lane from the end of its queue until another queue uses it.
  static var goneBit: UInt32 { 1 << 31 }

  /// Ends running operations. One that is being called is settled when its call returns; one that
  /// somebody is just ending, by whoever ends it.
  /// False as ``performLocked(_:)``.
  private func cutOffRunningLocked(_ outbox: inout Outbox) -> Bool {
    forEachRunningLocked { slot in
      let word: OperationWord
      if let before = slot.cutOffLocked(.cancelled, cause: .destroyed, &outbox) {
        word = before
      } else if slot.loadWord().contains(.restarting),
        slot.pointee.flags.contains(.inDelivery) || slot.loadWord().contains(.cutOff)
      {
        // Its retry policy has not been asked yet, or its cut-off attempt has not come to its end.
        _ = slot.releasePlaceLocked()
        slot.endForGoodLocked(.destroyed, &outbox)
        word = slot.loadWord()
      } else if let changed = slot.releasePlaceLocked() {
        // A deadline has ended it already; only its place was held.
        word = changed
      } else {
        return
      }
      guard word.contains(.returned) else { return }
      if isGateOfBurstLocked(slot) { suspendBurstLocked(slot) }
      settleLocked(slot, endedInsideCall: false, &outbox)
    }
    return performLocked(&outbox)
  }

  /// Sleeps until the lane is not in use; not when the process exits, as drainers then stop where they
  /// are. Releases the lock meanwhile.
  private func waitUntilUnusedLocked() {
    var backoff = Backoff()
    while isInUse && !ProcessState.isExiting {
      if !backoff.isShort {
        sleepLocked(-1)
        continue
      }
      pointee.lock.unlock()
      backoff.pause()
      pointee.lock.lock()
    }
  }

  private func deliverAllLocked(_ budget: inout DrainBudget) -> Bool {
    CallFrame(lane: self).enter {
      while pointee.machine.flags.contains(.hasDeliveries) {
        budget.remaining = Int.max
        if !deliverOneLocked(&budget) || !performLocked(&budget.outbox) { return false }
      }
      return true
    }
  }

  /// Called by the last user of a destroyed lane: delivers what is left, and returns the lane to
  /// the slab when nobody refers to it any more. While a drainer is still scheduled or a waiter
  /// still sleeps, returning it is left to them. Releases the lock.
  func leaveDestroyedLocked(_ outbox: inout Outbox) {
    let extra = pointee.extra!
    if !performLocked(&outbox) { return }
    if isInUse || extra.pointee.quiet.isBeingDestroyed {
      if !isInUse { wakeWaitersLocked() }
      pointee.lock.unlock()
      return
    }
    if pointee.machine.flags.contains(.hasDeliveries) {
      var budget = DrainBudget(remaining: Int.max, atExit: true)
      pointee.machine.active += 1
      if !deliverAllLocked(&budget) { return }
      pointee.machine.active -= 1
    }
    if !tellLastStatesLocked() || !letOthersGoLocked() { return }
    if extra.pointee.quiet.waiters > 0 { extra.wakeups.advance() }
    if pointee.machine.scheduled > 0 || extra.pointee.quiet.waiters > 0 || isInUse {
      pointee.lock.unlock()
      return
    }
    if let chunk = pointee.buffer.head {
      pointee.buffer = JobBuffer()
      Engine.current.pointee.chunks.giveBack(chunk)
    }
    let (clock, index) = (extra.pointee.settings.clock, extra.pointee.settings.index)
    let executors = extra.pointee.executors.all
    if let order = extra.pointee.backlog.order {
      order.pointee.front.release()
      order.pointee.behind.release()
      order.deinitialize(count: 1)
      order.deallocate()
    }
    if let pace = extra.pointee.pace {
      pace.pointee.timer?.giveUp()
      pace.deallocate()
    }
    pointee.more.release()
    freeLocked(index, pointee.generation, countsOut: false)
    executors.forEach { $0.release() }
    clock?.release()
  }

  /// Releases the events' handler, which destroys a context, and calls those who wait for quiet:
  /// all has been told, and nobody calls the queue any more. A scheduled drainer may take as long
  /// as its executor likes, so this does not wait for it. Releases the lock and takes it again; false
  /// in a forked child, or when the process exits.
  private func letOthersGoLocked() -> Bool {
    let extra = pointee.extra!
    let events = extra.pointee.events.map { Unmanaged.passRetained($0) }
    let quietCalls = extra.pointee.quiet.takeCalls()
    if events == nil && quietCalls.isEmpty { return true }
    let process = ProcessState.current
    extra.pointee.events = nil
    extra.pointee.quiet.outside += 1
    pointee.lock.unlock()
    events?.release()
    for call in quietCalls where ProcessState.current == process { call() }
    if ProcessState.current != process { return false }
    pointee.lock.lock()
    extra.pointee.quiet.outside -= 1
    return true
  }

  /// Returns the lane to the slab, and releases the lock.
  private func freeLocked(_ index: UInt32, _ generation: UInt32, countsOut: Bool) {
    pointee.generation = generation | Self.goneBit
    pointee.lock.unlock()
    let isUsedUp = generation & ~Self.goneBit == Handle.maximumGeneration
    Engine.current.pointee.lanes.giveBack(index, retired: isUsedUp, countsOut: countsOut)
  }
}
