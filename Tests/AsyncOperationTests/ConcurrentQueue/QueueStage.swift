import InturnCore
import TestSupport

@testable import AsyncOperation

/// A concurrent queue whose time the test advances, and what has happened on it.
final class QueueStage: Sendable {
  private let clock = Engine.createManualClock()
  let queue: ConcurrentQueue
  let log = Log<String>()

  init(limit: Int = 1, capacity: Int? = nil, label: String? = nil) {
    queue = ConcurrentQueue(
      label: label, maxConcurrentOperations: limit, capacity: capacity,
      executor: Handle(bits: 0), clock: clock)
  }

  func advance(_ milliseconds: Int64) {
    _ = Engine.clock(clock).1!.advance(by: milliseconds * 1_000_000)
  }

  /// Enqueues an operation that is logged when it starts, and runs until the test ends it.
  @discardableResult
  func hold(
    _ name: String = "held",
    _ options: ConcurrentOperationOptions = ConcurrentOperationOptions()
  ) -> Held {
    let held = Held()
    held.operation = queue.enqueue(options) { [log] token in
      log.add(name)
      held.started(token)
    }
    return held
  }

  /// Enqueues an operation that is logged and finishes at once.
  @discardableResult
  func note(
    _ name: String, _ options: ConcurrentOperationOptions = ConcurrentOperationOptions()
  ) -> ConcurrentOperation {
    queue.enqueue(options) { [log] token in
      log.add(name)
      token.finish()
    }
  }

  /// Whether the queue has done everything within the limit.
  func isDrained() async throws -> Bool {
    do {
      try await queue.drain(timeout: .seconds(Limit.seconds))
      return true
    } catch ConcurrentQueue.DrainError.timedOut(let rest) {
      for operation in rest { log.add("not ended: \(operation)") }
      return false
    }
  }
}

/// An operation that runs until the test ends it.
final class Held: Sendable {
  private let parts = Protected<(ConcurrentOperation?, ConcurrentToken?)>((nil, nil))
  private let starts = Protected(Signal())

  var operation: ConcurrentOperation! {
    get { parts.withLock { $0.0 } }
    set { parts.withLock { $0.0 = newValue } }
  }

  /// Of the attempt that began last. Taken out, so that nobody else keeps it.
  func takeToken() -> ConcurrentToken? {
    parts.withLock { parts in
      defer { parts.1 = nil }
      return parts.1
    }
  }

  /// The token of the attempt that began last; it stays here.
  var token: ConcurrentToken! { parts.withLock { $0.1 } }

  func started(_ token: ConcurrentToken) {
    parts.withLock { $0.1 = token }
    starts.withLock { $0 }.raise()
  }

  /// Whether an attempt has begun within the limit. Each attempt is waited for once.
  func hasStarted() async -> Bool {
    let signal = starts.withLock { $0 }
    let isThere = await signal.wait()
    starts.withLock { $0 = Signal() }
    return isThere
  }
}

extension ConcurrentOperation {
  /// How the operation ends, within the limit.
  func endInTime() async -> String {
    let signal = Signal()
    let task = Task {
      let end = await end
      signal.raise()
      return end
    }
    guard await signal.wait() else { return "no end within the limit" }
    return await task.value.text
  }
}

extension ConcurrentOperation.End {
  /// What an end looks like in a comparison.
  var text: String {
    switch self {
    case .failed(let error): "failed(\((error as? Failure).map { String($0.number) } ?? "?"))"
    case .cancelled(let cause): "cancelled(\(cause))"
    case .timedOut(let deadline): "timedOut(\(deadline))"
    case .finished: "finished"
    case .skipped: "skipped"
    case .resolved: "resolved"
    case .abandoned: "abandoned"
    }
  }
}
