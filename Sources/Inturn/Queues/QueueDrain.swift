import InturnCore

extension LaneQueue {
  func drain(timeout: Duration?, at site: Site) async throws(QueueError) -> [OperationInfo] {
    require(timeout ?? .zero >= .zero, "A timeout must not be negative.")
    if isQuiet { return [] }
    if timeout != .zero {
      let entry = try Frame.enter(at: site) { [lane] in [.quiet(lane)] }
      defer { WaitGraph.leave(entry) }
      if await waitUntilQuiet(timeout: timeout) { return [] }
    }
    return list(atMost: 100)
  }
}

/// One wait for a queue. Only the first call that ends it counts.
final class DrainWait: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  private let lock = BriefLock()
  @exclusivity(unchecked) private var continuation: CheckedContinuation<Bool, Never>?
  @exclusivity(unchecked) private var outcome: Bool?

  /// Waits until somebody ends it, as arranged by `begin`, until the time-out, or until the task is
  /// cancelled. Returns whether the queue is quiet.
  func end(
    within timeout: Duration?, of clock: ManualClock?, _ begin: (DrainWait) -> Void
  ) async -> Bool {
    let alarm = timeout.map { timeout in
      ClockAlarm(
        on: clock?.engineClock ?? Engine.systemClock, afterNanoseconds: timeout.inNanoseconds
      ) { self.end(isQuiet: false) }
    }
    defer { alarm?.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        self.begin(continuation)
        begin(self)
      }
    } onCancel: {
      end(isQuiet: false)
    }
  }

  private func begin(_ new: CheckedContinuation<Bool, Never>) {
    let outcome = lock.withLock { () -> Bool? in
      if self.outcome == nil { continuation = new }
      return self.outcome
    }
    if let outcome { new.resume(returning: outcome) }
  }

  func end(isQuiet: Bool) {
    let waiter = lock.withLock { () -> CheckedContinuation<Bool, Never>? in
      if outcome != nil { return nil }
      outcome = isQuiet
      defer { continuation = nil }
      return continuation
    }
    waiter?.resume(returning: isQuiet)
  }
}
