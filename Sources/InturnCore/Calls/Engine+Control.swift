/// Controlling a queue, and reading its state.
extension Engine {
  // MARK: Settings

  /// Sets how many operations of a concurrent queue may run at a time; 0 for the default.
  package static func setLimit(_ limit: UInt32, of queue: Handle) -> Status {
    let limit = limit == 0 ? UInt32(current.pointee.pool.size) : limit
    return withLocked(queue) { lane, _ in
      guard lane.pointee.machine.traits.contains(.limited) else { return .wrongKind }
      lane.needExtra().pointee.settings.limit = limit
      return .ok
    }
  }

  /// The limit set for how many operations of a queue may run at a time.
  package static func limit(of queue: Handle) -> (Status, UInt32) {
    withLocked(queue, or: 0) { lane, _ in lane.pointee.extra?.pointee.settings.limit ?? 0 }
  }

  /// Limits how many operations may start in an interval; nil for no limit.
  package static func setRate(_ rate: StartRate?, of queue: Handle) -> Status {
    guard hasMemory else { return .noMemory }
    return withLocked(queue, or: ()) { lane, _ in lane.changeRateLocked(rate) }.0
  }

  /// The same for a Swift module; an invalid rate stops the program.
  package static func setRate(
    maxStarts: Int, nanoseconds: Int64, burst: Int?, of queue: Handle
  ) {
    let rate = StartRate(
      starts: UInt32(clamping: maxStarts), interval: nanoseconds,
      burst: UInt32(clamping: burst ?? 0))
    guard let rate, burst ?? 1 > 0 else {
      fatalError(
        "A rate has a positive number of starts, interval and burst, and the interval times the burst"
          + " is less than 146 years.")
    }
    _ = setRate(rate, of: queue)
  }

  /// Changes after how long a queue is reported as stuck.
  package static func setStallLimit(_ limit: StallLimit, of queue: Handle) -> Status {
    guard hasMemory else { return .noMemory }
    current.pointee.watchdog.heed(limit)
    let (status, _) = withLocked(queue, or: ()) { lane, _ in
      lane.needExtra().pointee.settings.stall = limit
    }
    // What the queue has may have come while nobody looked.
    current.pointee.watchdog.begin()
    return status
  }

  /// Gives a queue another executor, which makes all starts from now on. Drainers that wait at the old
  /// one come over when it comes to them, so the queue keeps it; until then they may tell ends.
  package static func setExecutor(_ queue: Handle, _ executor: Handle) -> Status {
    if executor.bits == 0 { return executor.refusal(for: .executor) }
    guard hasMemory else { return .noMemory }
    var options = QueueOptions(kind: .fifo)
    let found = use(executor, Handle(bits: 0), in: &options)
    guard found == .ok, let new = options.executor else { return found }
    // The use that was just counted belongs to the queue if the executor is new to it.
    let (status, isNew) = withLocked(queue, or: false) { lane, _ in
      lane.stopBurstLocked()
      return lane.needExtra().pointee.executors.change(
        to: new, scheduled: lane.pointee.machine.scheduled, pool: current.pointee.pool)
    }
    if !isNew { releaseUse(of: new, nil) }
    return status
  }

  /// Sets the observer of the queue's events from now on. Does nothing if there is one already.
  package static func observe(
    _ queue: Handle, _ handler: @escaping @Sendable (QueueEvent) -> Void
  ) -> Status {
    let events = LaneEvents(Callback(call: handler))
    return withLocked(queue, or: ()) { lane, _ in lane.observeLocked(events) }.0
  }

  // MARK: Going on and stopping

  package static func suspend(
    _ queue: Handle, at site: Site = .unknown, reason: UnsafePointer<CChar>? = nil
  ) -> Status {
    if reason != nil && !hasMemory { return .noMemory }
    return withLocked(queue) { lane, _ in
      let extra = lane.needExtra()
      if !extra.pointee.suspensions.add(reason.map(Bytes.init), at: site) { return .full }
      if extra.pointee.suspensions.count == 1 {
        lane.noteLocked(.suspended)
        if Recorder.isOn { lane.traceLocked(.suspended) }
      }
      lane.pointee.machine.flags.insert(.suspended)
      lane.stopBurstLocked()
      return .ok
    }
  }

  /// Removes one suspension, with this reason or without one.
  package static func resume(_ queue: Handle, reason: UnsafePointer<CChar>? = nil) -> Status {
    resume(queue) { $0.takeBack(reason.map(Bytes.init)) }
  }

  /// Removes all suspensions, for whatever reasons.
  package static func resumeFully(_ queue: Handle) -> Status { resume(queue) { $0.takeAllBack() } }

  private static func resume(
    _ queue: Handle, _ takeBack: (inout Suspensions) -> Bool
  ) -> Status {
    withLocked(queue) { lane, outbox in
      guard let extra = lane.pointee.extra, takeBack(&extra.pointee.suspensions) else {
        return .notSuspended
      }
      if extra.pointee.suspensions.count > 0 { return .ok }
      lane.pointee.machine.flags.remove(.suspended)
      lane.noteLocked(.resumed)
      if Recorder.isOn { lane.traceLocked(.resumed) }
      lane.askToGiveWayLocked(&outbox)
      return .ok
    }
  }

  /// The view has appeared, or will disappear.
  package static func setVisible(_ queue: Handle, _ isVisible: Bool) -> Status {
    withLocked(queue) { lane, outbox in
      guard lane.pointee.machine.traits.contains(.view) else { return .wrongKind }
      lane.setVisibleLocked(isVisible, &outbox)
      return .ok
    }
  }

  package static func close(_ queue: Handle) -> Status {
    withLocked(queue) { lane, _ in
      if lane.pointee.machine.flags.contains(.closed) { return .closed }
      lane.pointee.machine.flags.insert(.closed)
      lane.noteLocked(.closed)
      return .ok
    }
  }

  // MARK: Cancelling

  package static func cancelAll(
    _ queue: Handle, areRunningAsked: Bool = true, cause: Cause = .request
  ) -> Status {
    guard let lane = lockedLane(queue) else { return queue.refusal(for: .queue) }
    var outbox = Outbox()
    guard lane.cancelAllLocked(areRunningAsked: areRunningAsked, cause: cause, &outbox) else {
      return .forked
    }
    lane.unlockSlowly(&outbox)
    return .ok
  }

  /// Ends a key's pending operations as finished; returns how many there were.
  package static func resolve(
    _ key: UnsafePointer<CChar>, of queue: Handle
  ) -> (Status, UInt64) {
    withLane(queue, or: 0) {
      $0.end(Bytes(key), as: .finished, .resolved, generation: queue.generation)
    }
  }

  /// Cancels a key's operations; returns how many there were.
  package static func cancel(
    _ key: UnsafePointer<CChar>, of queue: Handle
  ) -> (Status, UInt64) {
    withLane(queue, or: 0) {
      $0.end(Bytes(key), as: .cancelled, .request, generation: queue.generation)
    }
  }

  // MARK: Looking

  package static func statistics(of queue: Handle) -> (Status, QueueStatistics) {
    withLocked(queue, or: QueueStatistics()) { lane, _ in lane.statisticsLocked }
  }

  /// Calls `body` with each operation that has not ended, running ones first, until it returns
  /// false. `body` is called under the lock and must only copy.
  package static func list(_ queue: Handle, _ body: (OperationInfo) -> Bool) -> Status {
    withLocked(queue, or: ()) { lane, _ in lane.listLocked(body) }.0
  }

  /// Calls `body` once, as soon as nothing of the queue is pending, running or to be delivered, or
  /// the queue has been destroyed; inside this call if that is so already. `body` is called on any
  /// thread, without a lock, and must neither wait nor destroy the queue.
  package static func whenQuiet(_ queue: Handle, _ body: @escaping @Sendable () -> Void) -> Status {
    withLocked(queue, or: ()) { lane, _ in
      lane.setAwaitedLocked()
      lane.pointee.extra!.pointee.quiet.add(body)
    }.0
  }
}
