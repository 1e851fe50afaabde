/// Calls for the Swift module of concurrent queues only.
extension Engine {
  /// How many operations of the queue have to be stuck before this pending one is: as many as may
  /// run; or 1 if it is a barrier or behind one, as it then needs all of them to end. The caller
  /// holds the handle, and so the slot.
  package static func places(for operation: Handle) -> Int {
    guard let slot = OperationSlot.Pointer.find(operation: operation).1 else { return 1 }
    let lane = slot.lane
    let limit = lane.pointee.lock.withLock {
      slot.pointee.flags.isDisjoint(with: [.isFence, .isBehind])
        ? lane.pointee.extra?.pointee.settings.limit ?? 1 : 1
    }
    slot.dropReference()
    return Int(limit)
  }

  /// How reports name a queue.
  static func describe(queue: Handle) -> String {
    var text = "a queue that is gone"
    _ = withLane(queue) {
      text = $0.describedForReports
      return .ok
    }
    return text
  }

  /// Ends an operation as failed, with a result that says more than the code. When this is refused,
  /// the caller destroys the result. Otherwise it is destroyed like the result of a finish or, if
  /// another attempt follows, when that has ended.
  package static func fail(
    _ token: Handle, code: Int32, result: UnsafeMutableRawPointer, destroy: @escaping RawDestroy
  ) -> Status {
    end(token, as: .failed, payload: .init(code: code, result: result, resultDestroy: destroy))
  }
}
