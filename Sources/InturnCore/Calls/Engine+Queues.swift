/// The options of a queue, checked; see `inturn_queue_options`.
package struct QueueOptions {
  let traits: LaneTraits
  package var label: UnsafePointer<CChar>?
  package var executor: Executor?
  package var clock: Clock?
  package var capacity: UInt64 = 0
  /// Where it is limited: how many operations run at most; 0 for the default.
  package var limit: UInt32 = 0
  package var settle: Int64 = 500_000_000
  package var gap: Int64 = 250_000_000
  package var rate: StartRate?
  package var onEvent: (@Sendable (QueueEvent) -> Void)?

  package init(kind: QueueKind) { traits = LaneTraits(kind) }
}

/// What can be asked of a queue by its handle.
extension Engine {
  /// Makes a queue.
  package static func createQueue(
    _ options: QueueOptions, executor: Handle, clock: Handle
  ) -> (Status, Handle) {
    let none = Handle(bits: 0)
    guard hasMemory else { return (.noMemory, none) }
    var options = options
    if executor.bits != 0 || clock.bits != 0 || options.traits.contains(.view) {
      let status = use(executor, clock, in: &options)
      if status != .ok { return (status, none) }
    }
    if options.traits.contains(.limited) && options.limit == 0 {
      options.limit = UInt32(current.pointee.pool.size)
    }
    guard let handle = Lane.Pointer.make(options) else {
      releaseUse(of: options.executor, options.clock)
      return (.noMemory, none)
    }
    return (.ok, handle)
  }

  /// Finds the executor and the clock that a queue is to use, and keeps them from being destroyed.
  private static func use(
    _ executor: Handle, _ clock: Handle, in options: inout QueueOptions
  ) -> Status {
    let objects = current.pointee.objects
    objects.lock.lock()
    defer { objects.lock.unlockAfterReadingObject() }
    if executor.bits != 0 {
      switch objects.executors.find(executor) {
      case .success(let found): options.executor = found
      case .failure(let refusal): return refusal.status
      }
    } else if options.traits.contains(.view) {
      options.executor = current.pointee.mainExecutor
    }
    if clock.bits != 0 {
      switch objects.clocks.find(clock) {
      case .success(let found): options.clock = found
      case .failure(let refusal): return refusal.status
      }
    }
    options.executor?.users += 1
    options.clock?.users += 1
    return .ok
  }

  /// A queue does not use its executor and its clock any more.
  static func releaseUse(of executor: Executor?, _ clock: Clock?) {
    if executor == nil && clock == nil { return }
    let objects = current.pointee.objects
    objects.lock.lock()
    executor?.users -= 1
    clock?.users -= 1
    objects.lock.unlock()
  }

  /// Whether queues use the main thread's executor.
  static var isMainExecutorUsed: Bool {
    let objects = current.pointee.objects
    objects.lock.lock()
    defer { objects.lock.unlock() }
    return current.pointee.mainExecutor.users > 0
  }

  /// Gives a queue another executor.
  package static func setExecutor(_ queue: Handle, _ executor: Handle) -> Status {
    if executor.bits == 0 { return executor.refusal(for: .executor) }
    guard hasMemory else { return .noMemory }
    var options = QueueOptions(kind: .fifo)
    let found = use(executor, Handle(bits: 0), in: &options)
    guard found == .ok, let new = options.executor else { return found }
    var isSurplus = true
    let status = withLane(queue) {
      let result = $0.setExecutor(new, generation: queue.generation)
      isSurplus = result.isSurplus
      return result.status
    }
    if isSurplus { releaseUse(of: new, nil) }
    return status
  }

  /// The lane that a handle names, as far as that can be told without its lock.
  @inline(__always)
  private static func lane(_ queue: Handle) -> Lane.Pointer? {
    guard queue.isOf(.queue) else { return nil }
    return current.pointee.lanes.pointer(at: queue.index)
  }

  /// Calls `body` with the lane that a handle names.
  @inline(__always)
  static func withLane(
    _ queue: Handle, _ body: (Lane.Pointer) -> Status
  ) -> Status {
    guard let lane = lane(queue) else { return queue.refusal(for: .queue) }
    let status = body(lane)
    // The lane's word for "another generation" becomes what is wrong with the handle.
    return status == .stale ? queue.refusal(for: .queue) : status
  }

  /// `isOwed`: to somebody who was not refused; see `ChunkPool`.
  @inline(__always)
  package static func enqueue(
    _ queue: Handle, work: RawWork?, context: UnsafeMutableRawPointer?, destroy: RawDestroy?,
    isOwed: Bool = false
  ) -> Status {
    guard let work else { return .invalidArgument }
    return withLane(queue) {
      $0.enqueue(
        generation: queue.generation, work: work, context: context, destroy: destroy,
        isOwed: isOwed)
    }
  }

  package static func enqueue(
    _ queue: Handle, options: OperationOptions?, work: RawWork?,
    context: UnsafeMutableRawPointer?, destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle) {
    OperationOptions.withPointer(to: options) {
      enqueue(
        queue, optionsAt: $0, work: work, context: context, destroy: destroy,
        wantsHandle: wantsHandle)
    }
  }

  /// The same for who has the options in memory: they are large, and to copy them takes time.
  package static func enqueue(
    _ queue: Handle, optionsAt options: UnsafePointer<OperationOptions>?, work: RawWork?,
    context: UnsafeMutableRawPointer?, destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle) {
    guard let work else { return (.invalidArgument, Handle(bits: 0)) }
    guard hasMemory else { return (.noMemory, Handle(bits: 0)) }
    var operation = Handle(bits: 0)
    let status = withLane(queue) {
      let (status, handle) = $0.enqueue(
        generation: queue.generation, options: options, work: work, context: context,
        destroy: destroy, wantsHandle: wantsHandle)
      operation = handle
      return status
    }
    return (status, operation)
  }

  /// The same for an operation of which little is asked.
  package static func enqueue(
    _ queue: Handle, lean: LeanOptions, work: RawWork?, context: UnsafeMutableRawPointer?,
    destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle) {
    guard let work else { return (.invalidArgument, Handle(bits: 0)) }
    guard hasMemory else { return (.noMemory, Handle(bits: 0)) }
    guard let lane = lane(queue) else { return (queue.refusal(for: .queue), Handle(bits: 0)) }
    let short = lane.enqueueLean(
      generation: queue.generation, lean, work: work, context: context, destroy: destroy,
      wantsHandle: wantsHandle)
    guard let short else {
      var options = OperationOptions()
      options.priority = lean.priority
      options.after = lean.after
      options.needsFinished = lean.needsFinished
      return withUnsafePointer(to: &options) {
        enqueue(
          queue, optionsAt: $0, work: work, context: context, destroy: destroy,
          wantsHandle: wantsHandle)
      }
    }
    return short.0 == .stale ? (queue.refusal(for: .queue), short.1) : short
  }

  /// Says how many operations of a concurrent queue may run at a time; 0 for the default.
  package static func setLimit(_ limit: UInt32, of queue: Handle) -> Status {
    let limit = limit == 0 ? UInt32(current.pointee.pool.size) : limit
    return withLane(queue) { $0.setLimit(limit, generation: queue.generation) }
  }

  /// Says how many operations may start in a time; nil for any number.
  package static func setRate(_ rate: StartRate?, of queue: Handle) -> Status {
    guard hasMemory else { return .noMemory }
    return withLane(queue) { $0.setRate(rate, generation: queue.generation) }
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

  package static func suspend(_ queue: Handle, reason: String? = nil) -> Status {
    if reason != nil && !hasMemory { return .noMemory }
    return withLane(queue) { $0.suspend(generation: queue.generation, reason: reason) }
  }

  package static func resume(_ queue: Handle, reason: String? = nil) -> Status {
    withLane(queue) { $0.resume(generation: queue.generation, reason: reason) }
  }

  /// Ends as finished what is pending of a key; gives how many there were.
  package static func resolve(_ key: String, of queue: Handle) -> (Status, UInt64) {
    var count: UInt64 = 0
    let status = withLane(queue) {
      let (status, resolved) = $0.resolve(key, generation: queue.generation)
      count = resolved
      return status
    }
    return (status, count)
  }

  /// Cancels all of a key; gives how many there were.
  package static func cancel(_ key: String, of queue: Handle) -> (Status, UInt64) {
    var count: UInt64 = 0
    let status = withLane(queue) {
      let (status, cancelled) = $0.cancel(key, generation: queue.generation)
      count = cancelled
      return status
    }
    return (status, count)
  }

  package static func setVisible(_ queue: Handle, _ isVisible: Bool) -> Status {
    withLane(queue) { $0.setVisible(isVisible, generation: queue.generation) }
  }

  package static func cancelAll(_ queue: Handle) -> Status {
    withLane(queue) { $0.cancelAll(generation: queue.generation) }
  }

  package static func close(_ queue: Handle) -> Status {
    withLane(queue) { $0.close(generation: queue.generation) }
  }

  /// `left` is told what is left when the time is over; under the lock, so it must only copy.
  package static func drain(
    _ queue: Handle, timeoutNanoseconds: Int64,
    left: (OperationInfo) -> Bool = { _ in false }
  ) -> Status {
    withLane(queue) {
      $0.waitUntilQuiet(
        generation: queue.generation, timeoutNanoseconds: timeoutNanoseconds, left: left)
    }
  }

  package static func destroy(queue: Handle) -> Status {
    withLane(queue) { $0.destroy(queue) }
  }

  package static func statistics(of queue: Handle) -> (Status, QueueStatistics) {
    var statistics = QueueStatistics()
    let status = withLane(queue) {
      let (status, result) = $0.statistics(generation: queue.generation)
      statistics = result
      return status
    }
    return (status, statistics)
  }

  package static func list(_ queue: Handle, _ body: (OperationInfo) -> Bool) -> Status {
    withLane(queue) { $0.list(generation: queue.generation, body) }
  }
}
