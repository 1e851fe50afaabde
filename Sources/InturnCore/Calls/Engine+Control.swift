/// What a queue is told to do, and what it says of itself.
extension Engine {
  // MARK: Settings

  /// Says how many operations of a concurrent queue may run at a time; 0 for the default.
  package static func setLimit(_ limit: UInt32, of queue: Handle) -> Status {
    let limit = limit == 0 ? UInt32(current.pointee.pool.size) : limit
    return withLocked(queue) { lane, _ in
      guard lane.pointee.machine.traits.contains(.limited) else { return .wrongKind }
      lane.needExtra().pointee.settings.limit = limit
      return .ok
    }
  }

  /// How many operations of a queue may run at a time, as it was set.
  package static func limit(of queue: Handle) -> (Status, UInt32) {
    var limit: UInt32 = 0
    let status = withLocked(queue) { lane, _ in
      limit = lane.pointee.extra?.pointee.settings.limit ?? 0
      return .ok
    }
    return (status, limit)
  }

  /// Says how many operations may start in a time; nil for any number.
  package static func setRate(_ rate: StartRate?, of queue: Handle) -> Status {
    guard hasMemory else { return .noMemory }
    return withLocked(queue) { lane, _ in
      lane.changeRateLocked(rate)
      return .ok
    }
  }

  /// The same for a Swift module, where a rate that is none stops the program.
  package static func setRate(
    maxStarts: Int, nanoseconds: Int64, burst: Int?, of queue: Handle
  ) {
    let rate = StartRate(
      starts: UInt32(exactly: maxStarts) ?? 0, interval: nanoseconds,
      burst: burst.map { UInt32(exactly: max($0, 0)) ?? 0 } ?? 0)
    guard let rate, burst ?? 1 > 0 else {
      fatalError("A rate has a positive number of starts, interval and burst.")
    }
    _ = setRate(rate, of: queue)
  }

  /// Gives a queue another executor. What the old one has got already, it still calls, so it stays
  /// with the queue.
  package static func setExecutor(_ queue: Handle, _ executor: Handle) -> Status {
    if executor.bits == 0 { return executor.refusal(for: .executor) }
    guard hasMemory else { return .noMemory }
    var options = QueueOptions(kind: .fifo)
    let found = use(executor, Handle(bits: 0), in: &options)
    guard found == .ok, let new = options.executor else { return found }
    // The use that was just counted is the queue's then.
    var isNew = false
    let status = withLocked(queue) { lane, _ in
      isNew = lane.needExtra().pointee.executors.change(
        to: new, scheduled: lane.pointee.machine.scheduled, pool: current.pointee.pool)
      return .ok
    }
    if !isNew { releaseUse(of: new, nil) }
    return status
  }

  /// Sets who is told the queue's events from now on. Nothing happens when somebody is told
  /// already.
  package static func observe(
    _ queue: Handle, _ handler: @escaping @Sendable (QueueEvent) -> Void
  ) -> Status {
    let events = LaneEvents(handler)
    return withLocked(queue) { lane, _ in
      lane.observeLocked(events)
      return .ok
    }
  }

  // MARK: Going on and stopping

  package static func suspend(
    _ queue: Handle, at site: Site = .unknown, reason: UnsafePointer<CChar>? = nil
  ) -> Status {
    if reason != nil && !hasMemory { return .noMemory }
    return withLocked(queue) { lane, _ in
      let extra = lane.needExtra()
      if !extra.pointee.suspensions.add(reason.map(Bytes.init), at: site) { return .full }
      if extra.pointee.suspensions.count == 1 { lane.noteLocked(.suspended) }
      lane.pointee.machine.flags.insert(.suspended)
      lane.stopBurstLocked()
      return .ok
    }
  }

  /// Takes one suspend back, of this reason or of none.
  package static func resume(_ queue: Handle, reason: UnsafePointer<CChar>? = nil) -> Status {
    withLocked(queue) { lane, outbox in
      guard let extra = lane.pointee.extra,
        extra.pointee.suspensions.takeBack(reason.map(Bytes.init))
      else { return .notSuspended }
      if extra.pointee.suspensions.count > 0 { return .ok }
      lane.pointee.machine.flags.remove(.suspended)
      lane.noteLocked(.resumed)
      lane.askToGiveWayLocked(&outbox)
      return .ok
    }
  }

  /// The view has appeared, or disappears.
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

  package static func cancelAll(_ queue: Handle) -> Status {
    withLocked(queue) { lane, outbox in
      lane.cancelAllLocked(&outbox)
      return .ok
    }
  }

  /// Ends as finished what is pending of a key; gives how many there were.
  package static func resolve(
    _ key: UnsafePointer<CChar>, of queue: Handle
  ) -> (Status, UInt64) {
    withLane(queue, or: 0) { $0.resolve(Bytes(key), generation: queue.generation) }
  }

  /// Cancels all of a key; gives how many there were.
  package static func cancel(
    _ key: UnsafePointer<CChar>, of queue: Handle
  ) -> (Status, UInt64) {
    withLane(queue, or: 0) { $0.cancel(Bytes(key), generation: queue.generation) }
  }

  // MARK: Looking

  package static func statistics(of queue: Handle) -> (Status, QueueStatistics) {
    var statistics = QueueStatistics()
    let status = withLocked(queue) { lane, _ in
      statistics = lane.statisticsLocked
      return .ok
    }
    return (status, statistics)
  }

  /// Tells each operation that has not ended, running ones first, until `body` says that it is
  /// enough. `body` is called under the lock and must only copy.
  package static func list(_ queue: Handle, _ body: (OperationInfo) -> Bool) -> Status {
    withLocked(queue) { lane, _ in
      lane.listLocked(body)
      return .ok
    }
  }

  /// Calls something once, as soon as nothing of the queue is pending, running or to be delivered,
  /// or the queue has been destroyed; inside this call when that is so already. It is called on any
  /// thread, without a lock, and must neither wait nor destroy the queue.
  package static func whenQuiet(_ queue: Handle, _ body: @escaping @Sendable () -> Void) -> Status {
    withLocked(queue) { lane, _ in
      lane.needExtra().pointee.quiet.add(body)
      lane.pointee.machine.flags.insert(.waitedFor)
      return .ok
    }
  }
}
