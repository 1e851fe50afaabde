/// Calls for the modules that drain their lanes themselves.
extension Engine {
  /// A batch of operations that have been enqueued one by one, so that snapshots tell it. Its maker
  /// adds their ends to its decision and, when it is over, removes it. One of no operations is over.
  package static func addBatch(
    _ policy: BatchPolicy, enough: Int, count: Int, queue: Handle?
  ) -> Batch {
    var options = BatchOptions()
    (options.policy, options.enough) = (policy, enough)
    let batch = Batch(options, queue: queue ?? Handle(bits: 0), count: count)!
    if count > 0 { batch.handle = current.pointee.objects.batches.add(batch)! }
    return batch
  }

  package static func remove(_ batch: Batch) {
    // A forked child does not have its parent's.
    _ = current.pointee.objects.batches.remove(batch.handle)
  }

  /// The queue that an operation was given to; nil if there is no such operation.
  package static func queue(of operation: Handle) -> Handle? {
    guard let slot = OperationSlot.Pointer.find(operation: operation).1 else { return nil }
    defer { slot.dropReference() }
    return current.pointee.lanes.index(of: slot.lane).map {
      Handle(.queue, index: $0, generation: slot.pointee.laneGeneration)
    }
  }

  /// Creates a queue that a host drains; see `OutsideExecutor`. The queue retains the host. The
  /// engine must not observe it: it does not see what a drainer starts, so the host reports the
  /// events.
  package static func createQueue(
    _ options: QueueOptions, host: any LaneHost, clock: Clock?
  ) -> (Status, Handle) {
    precondition(options.onEvent == nil, "A host tells of its queue's events.")
    var options = options
    options.executor = OutsideExecutor(host: host)
    options.clock = clock
    if options.traits.contains(.oneAtATime) { options.traits.insert(.longCalls) }
    let objects = current.pointee.objects
    objects.lock.lock()
    options.executor!.users += 1
    clock?.users += 1
    objects.lock.unlock()
    guard let handle = Lane.Pointer.make(options) else {
      releaseUse(of: options.executor, clock)
      return (.noMemory, Handle(bits: 0))
    }
    return (.ok, handle)
  }

  /// Enqueues an operation with a slot. A cancel-all does not end an obstinate one before its
  /// start, but only asks it to end.
  package static func enqueue(
    _ queue: Handle, at site: Site = .unknown, options: OperationOptions?,
    context: UnsafeMutableRawPointer, destroy: @escaping RawDestroy, isObstinate: Bool,
    wantsHandle: Bool
  ) -> (Status, Handle) {
    var flags: OperationSlot.Flags = isObstinate ? .obstinate : []
    if options == nil { flags.insert(.untimed) }
    return withLane(queue, or: Handle(bits: 0)) { lane in
      OperationOptions.withPointer(to: options) {
        lane.enqueue(
          generation: queue.generation, options: $0, work: Work(known: { _, _ in }, at: site),
          context: context, destroy: destroy, wantsHandle: wantsHandle, flags: flags)
      }
    }
  }

  /// Enqueues an operation without a slot, which a `LaneDrainer` returns as it is. `work` is a
  /// function's address; `destroy` gets the context if the operation never starts.
  @inline(__always)
  package static func enqueuePlain(
    _ queue: Handle, at site: Site = .unknown, work: UInt, context: UInt,
    destroy: @escaping RawDestroy
  ) -> Status {
    enqueue(
      queue, at: site, work: unsafeBitCast(work, to: RawWork?.self),
      context: UnsafeMutableRawPointer(bitPattern: context), destroy: destroy)
  }

  /// Enqueues an operation without a slot that a cancel-all does not end before its start, but only
  /// marks. Its work is `LaneDrainer.obstinate` or, once marked, `askedToEnd`. `destroy` gets the
  /// context if the queue is destroyed before the start.
  @inline(__always)
  package static func enqueueObstinate(
    _ queue: Handle, at site: Site = .unknown, context: UInt, destroy: @escaping RawDestroy
  ) -> Status {
    withLane(queue) {
      $0.enqueue(
        generation: queue.generation,
        work: Work(unsafeBitCast(LaneDrainer.obstinate, to: RawWork?.self), at: site)!,
        context: UnsafeMutableRawPointer(bitPattern: context), destroy: destroy, isObstinate: true)
    }
  }

  /// Starts the offered operation with this context, including a plain one's tag. Nil when it is
  /// not, or no longer, its turn: it is then offered again, or has ended. `whenPlain` is called
  /// under the lane's lock before an operation without a slot is over for the lane.
  @inline(__always)
  package static func claim(
    _ context: UInt, of queue: Handle, whenPlain: () -> Void = {}
  ) -> OutsideExecutor.Claim? {
    lane(queue)?.claim(generation: queue.generation, context, whenPlain: whenPlain)
  }

  /// Begins an operation that runs in the caller. False when the queue is not free for it.
  @inline(__always)
  package static func enter(_ queue: Handle) -> Bool {
    lane(queue)?.enter(generation: queue.generation) ?? false
  }

  /// Ends an operation that `enter` has begun.
  @inline(__always)
  package static func leave(_ queue: Handle, as outcome: Outcome) {
    lane(queue).unsafelyUnwrapped.leaveVisit(as: outcome)
  }

  /// Calls `body` with the contexts of running operations; see `Lane.forEachRunning`.
  package static func forEachRunning(
    of queue: Handle, areAskedToEnd: Bool, _ body: (UnsafeMutableRawPointer) -> Void
  ) {
    lane(queue)?.forEachRunning(
      generation: queue.generation, areAskedToEnd: areAskedToEnd, body)
  }

  package static var systemClock: Clock { current.pointee.systemClock }
}
