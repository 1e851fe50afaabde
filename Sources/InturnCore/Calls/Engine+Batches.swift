/// Calls about batches, by handle.
extension Engine {
  /// Enqueues a batch. `item` returns the operations in order. When this is refused, the caller
  /// destroys all contexts.
  package static func enqueueBatch(
    _ queue: Handle, _ options: BatchOptions, count: Int, wantsHandle: Bool,
    item: (Int) -> BatchItem
  ) -> (Status, Handle) {
    guard hasMemory, let batch = Batch(options, queue: queue, count: count) else {
      return (.noMemory, Handle(bits: 0))
    }
    batch.use.isHeld = wantsHandle
    let status = withLane(queue) { lane in
      guard let handle = current.pointee.objects.batches.add(batch) else { return .noMemory }
      batch.handle = handle
      let status =
        count == 0
        ? lane.enqueueEmpty(batch, generation: queue.generation)
        : lane.enqueue(
          batch, generation: queue.generation, options: options.operation, edges: options.edges,
          item: item)
      if status != .ok { _ = current.pointee.objects.batches.remove(handle) }
      return status
    }
    return (status, status == .ok ? batch.handle : Handle(bits: 0))
  }

  /// The batch that a handle names.
  package static func batch(_ handle: Handle) -> (Status, Batch?) {
    withObjects { objects in
      let (status, batch) = objects.batches.find(handle)
      guard let batch else { return (status, nil) }
      let isNamed = batch.use.isHeld || batch.use.completer != 0
      return isNamed ? (.ok, batch) : (.stale, nil)
    }
  }

  package static func release(batch handle: Handle) -> Status {
    let (status, batch) = batch(handle)
    guard let batch else { return status }
    var wasHeld = false
    withUse(of: batch) {
      wasHeld = $0.isHeld
      $0.isHeld = false
    }
    return wasHeld ? .ok : .stale
  }

  /// Changes the use of a batch's handle, and forgets the batch when nobody uses it or will.
  static func withUse(of batch: Batch, _ change: (inout Batch.Use) -> Void) {
    withObjects { objects in
      let before = batch.use
      change(&batch.use)
      if batch.use.isComplete && !batch.use.isHeld && (before.isHeld || !before.isComplete) {
        _ = objects.batches.remove(batch.handle)
      }
    }
  }
}
