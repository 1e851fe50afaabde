/// Calls about queues, by handle.
extension Engine {
  /// Creates a queue.
  @_optimize(speed)
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

  /// Creates a queue without options other than a label.
  @_optimize(speed)
  package static func createQueue(
    _ kind: QueueKind, label: UnsafePointer<CChar>?
  ) -> (Status, Handle) {
    let none = Handle(bits: 0)
    let traits = LaneTraits(kind)
    if traits.haveSettings {
      var options = QueueOptions(kind: kind)
      options.label = label
      return createQueue(options, executor: none, clock: none)
    }
    guard hasMemory, let handle = Lane.Pointer.make(traits, label: label)
    else { return (.noMemory, none) }
    return (.ok, handle)
  }

  /// Finds the executor and clock for a queue, and keeps them from being destroyed.
  static func use(
    _ executor: Handle, _ clock: Handle, in options: inout QueueOptions
  ) -> Status {
    let objects = current.pointee.objects
    objects.lock.lock()
    defer { objects.lock.unlockAfterReadingObject() }
    if executor.bits != 0 {
      let (status, found) = objects.executors.find(executor)
      if status != .ok { return status }
      options.executor = found
    } else if options.traits.contains(.view) {
      options.executor = current.pointee.mainExecutor
    }
    if clock.bits != 0 {
      let (status, found) = objects.clocks.find(clock)
      if status != .ok { return status }
      options.clock = found
    }
    options.executor?.users += 1
    options.clock?.users += 1
    return .ok
  }

  /// A queue no longer uses its executor and clock.
  static func releaseUse(of executor: Executor?, _ clock: Clock?) {
    if executor == nil && clock == nil { return }
    let objects = current.pointee.objects
    objects.lock.lock()
    executor?.users -= 1
    if let clock {
      clock.users -= 1
      objects.removeUnused(clock)
    }
    objects.lock.unlock()
  }

  /// Whether queues use the main thread's executor.
  static var isMainExecutorUsed: Bool {
    let objects = current.pointee.objects
    return objects.lock.withLock { current.pointee.mainExecutor.users > 0 }
  }

  /// The lane that a handle names, as far as can be told without its lock.
  @inline(__always)
  static func lane(_ queue: Handle) -> Lane.Pointer? {
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
    // The lane says `stale` for "another generation"; the handle says what exactly is wrong.
    return status == .stale ? queue.refusal(for: .queue) : status
  }

  /// The same for calls that return more than a status; `none` when there is no such lane.
  static func withLane<Result>(
    _ queue: Handle, or none: Result, _ body: (Lane.Pointer) -> (Status, Result)
  ) -> (Status, Result) {
    var result = none
    let status = withLane(queue) {
      let (status, found) = body($0)
      result = found
      return status
    }
    return (status, result)
  }

  /// Calls `step` with the lane that a handle names, locked. Its consequences are carried out once
  /// the lock is released.
  static func withLocked(
    _ queue: Handle, _ step: (Lane.Pointer, inout Outbox) -> Status
  ) -> Status {
    guard let lane = lockedLane(queue) else { return queue.refusal(for: .queue) }
    var outbox = Outbox()
    let status = step(lane, &outbox)
    lane.unlockSlowly(&outbox)
    return status
  }

  /// The same for a step that refuses nothing.
  static func withLocked<Result>(
    _ queue: Handle, or none: Result, _ step: (Lane.Pointer, inout Outbox) -> Result
  ) -> (Status, Result) {
    var result = none
    let status = withLocked(queue) { lane, outbox in
      result = step(lane, &outbox)
      return .ok
    }
    return (status, result)
  }

  @inline(never)
  static func lockedLane(_ queue: Handle) -> Lane.Pointer? {
    guard let lane = lane(queue) else { return nil }
    lane.pointee.lock.lock()
    if lane.pointee.generation == queue.generation { return lane }
    lane.pointee.lock.unlock()
    return nil
  }

  /// `isOwed`: to somebody who cannot be refused; see `ChunkPool`.
  @inline(__always)
  package static func enqueue(
    _ queue: Handle, at site: Site = .unknown, work: RawWork?, context: UnsafeMutableRawPointer?,
    destroy: RawDestroy?, isOwed: Bool = false
  ) -> Status {
    guard let work = Work(work, at: site) else { return .invalidArgument }
    return withLane(queue) {
      $0.enqueue(
        generation: queue.generation, work: work, context: context, destroy: destroy,
        isOwed: isOwed)
    }
  }

  package static func enqueue(
    _ queue: Handle, at site: Site = .unknown, options: OperationOptions?, work: RawWork?,
    context: UnsafeMutableRawPointer?, destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle) {
    OperationOptions.withPointer(to: options) {
      enqueue(
        queue, at: site, optionsAt: $0, work: work, context: context, destroy: destroy,
        wantsHandle: wantsHandle)
    }
  }

  /// The same for options in memory: they are large, and copying them takes time.
  package static func enqueue(
    _ queue: Handle, at site: Site, optionsAt options: UnsafePointer<OperationOptions>?,
    work: RawWork?, context: UnsafeMutableRawPointer?, destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle) {
    let none = Handle(bits: 0)
    guard let work = Work(work, at: site) else { return (.invalidArgument, none) }
    guard hasMemory else { return (.noMemory, none) }
    return withLane(queue, or: none) {
      $0.enqueue(
        generation: queue.generation, options: options, work: work, context: context,
        destroy: destroy, wantsHandle: wantsHandle)
    }
  }

  /// The same for an operation with few options.
  package static func enqueue(
    _ queue: Handle, at site: Site = .unknown, lean: LeanOptions, work: RawWork?,
    context: UnsafeMutableRawPointer?, destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle) {
    let none = Handle(bits: 0)
    guard let work = Work(work, at: site) else { return (.invalidArgument, none) }
    guard hasMemory else { return (.noMemory, none) }
    return withLane(queue, or: none) {
      $0.enqueue(
        generation: queue.generation, lean: lean, work: work, context: context, destroy: destroy,
        wantsHandle: wantsHandle)
    }
  }

  /// On a time-out, `left` is called with what remains, under the lock, so it must only copy.
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
}
