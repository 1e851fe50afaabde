import AsyncQueue

/// A queue that is not the library's: it forwards its calls.
final class Foreign: WorkQueue {
  let queue = FIFOQueue()

  var label: String? { queue.label }
  var capacity: Int? { queue.capacity }
  var clock: ManualClock? { queue.clock }
  func suspend() { queue.suspend() }
  func resume() { queue.resume() }
  func suspend(for reason: String) { queue.suspend(for: reason) }
  func resume(for reason: String) { queue.resume(for: reason) }
  func setRate(maxStarts: Int, interval: Duration, burst: Int?) {
    queue.setRate(maxStarts: maxStarts, interval: interval, burst: burst)
  }
  func removeRate() { queue.removeRate() }
  func setStallLimit(_ limit: Duration?) { queue.setStallLimit(limit) }
  func cancelAll() { queue.cancelAll() }
  func cancel(key: String) -> Int { queue.cancel(key: key) }
  func resolve(key: String) -> Int { queue.resolve(key: key) }
  func close() { queue.close() }
  func drain(timeout: Duration?) async throws(QueueError) -> [OperationInfo] {
    try await queue.drain(timeout: timeout)
  }
  var statistics: QueueStatistics { queue.statistics }
  var states: QueueStates { queue.states }
  func events(
    buffering policy: AsyncStream<QueueEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<QueueEvent> { queue.events(buffering: policy) }
  func list(atMost count: Int) -> [OperationInfo] { queue.list(atMost: count) }
}
