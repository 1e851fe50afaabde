/// What only the Swift module of concurrent queues asks.
extension Engine {
  /// Of how many operations' places one has to become free before a pending one starts: all when it
  /// is a barrier, or behind one. The caller has the handle, and so keeps the slot.
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

  /// How reports call a queue.
  static func describe(queue: Handle) -> String {
    var text = "a queue that is gone"
    _ = withLane(queue) {
      text = $0.describedForReports
      return .ok
    }
    return text
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
