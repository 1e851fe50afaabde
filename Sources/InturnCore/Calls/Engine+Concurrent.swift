/// What only the Swift module of concurrent queues asks.
extension Engine {
  /// How many operations of a queue may run at a time, as it was set.
  package static func limit(of queue: Handle) -> (Status, UInt32) {
    var limit: UInt32 = 0
    let status = withLane(queue) {
      let (status, found) = $0.limit(generation: queue.generation)
      limit = found
      return status
    }
    return (status, limit)
  }

  /// Of how many operations' places one has to become free before a pending one starts: all when it
  /// is a barrier, or behind one. The caller has the handle, and so keeps the slot.
  package static func places(for operation: Handle) -> Int {
    guard case .success(let slot) = OperationSlot.Pointer.find(operation: operation) else {
      return 1
    }
    let lane = slot.lane
    let limit = lane.pointee.lock.withLock {
      slot.pointee.flags.isDisjoint(with: [.isFence, .isBehind])
        ? lane.pointee.extra?.pointee.settings.limit ?? 1 : 1
    }
    slot.dropReference()
    return Int(limit)
  }

  /// How reports call a queue.
  static func describe(queue: Handle) -> String {
    var text = "a queue that is gone"
    _ = withLane(queue) {
      text = $0.describedForReports
      return .ok
    }
    return text
  }

  /// Calls something once, as soon as nothing of the queue is pending, running or to be delivered,
  /// or the queue has been destroyed; inside this call when that is so already. It is called on any
  /// thread, without a lock, and must neither wait nor destroy the queue.
  package static func whenQuiet(_ queue: Handle, _ body: @escaping @Sendable () -> Void) -> Status {
    withLane(queue) { $0.whenQuiet(generation: queue.generation, body) }
  }

  /// Sets who is told the queue's events from now on. Nothing happens when somebody is told
  /// already.
  package static func observe(
    _ queue: Handle, _ handler: @escaping @Sendable (QueueEvent) -> Void
  ) -> Status {
    withLane(queue) { $0.observe(generation: queue.generation, handler) }
  }

  /// Ends an operation as failed, with a result that says more than the code. The result is the
  /// caller's to destroy when this is refused; else it is destroyed as that of a finish is, and if
  /// another attempt follows, when that has ended.
  package static func fail(
    _ token: Handle, code: Int32, result: UnsafeMutableRawPointer, destroy: @escaping RawDestroy
  ) -> Status {
    end(token, as: .failed, payload: .init(code: code, result: result, resultDestroy: destroy))
  }
}
