import TestSupport

@testable import AsyncOperation

/// A concurrent queue whose time the test advances, with a log of what has happened.
final class QueueStage: Sendable {
  private let clock = ManualClock()
  let queue: ConcurrentQueue
  let log = Log<String>()

  init(limit: Int = 1, capacity: Int? = nil, label: String? = nil) {
    queue = ConcurrentQueue(
      label: label, maxConcurrent: limit, capacity: capacity, clock: clock)
  }

  func advance(_ milliseconds: Int64) {
    clock.advance(by: .milliseconds(milliseconds))
  }

  /// Enqueues an operation that is logged when it starts, and runs until the test ends it.
  @discardableResult
  func hold(
    _ name: String = "held",
    _ options: OperationOptions = OperationOptions()
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
    _ name: String, _ options: OperationOptions = OperationOptions()
  ) -> QueuedOperation {
    queue.enqueue(options) { [log] token in
      log.add(name)
      token.finish()
    }
  }

  /// Whether the queue becomes empty within the limit.
  func isDrained() async throws -> Bool {
    let drained = Signal()
    let task = Task {
      defer { drained.raise() }
      return try await queue.drain()
    }
    // Cancelled by the test, as time only passes for the queue when the test advances it.
    if await !drained.wait() { task.cancel() }
    let rest = try await task.value
    for operation in rest { log.add("not ended: \(operation)") }
    return rest.isEmpty
  }
}

/// An operation that runs until the test ends it.
final class Held: Sendable {
  private let parts = Protected<(QueuedOperation?, FinishToken?)>((nil, nil))
  private let starts = Protected(Signal())

  var operation: QueuedOperation! {
    get { parts.withLock { $0.0 } }
    set { parts.withLock { $0.0 = newValue } }
  }

  /// The token of the last attempt. It is removed, so that nothing else keeps it.
  func takeToken() -> FinishToken? {
    parts.withLock { parts in
      defer { parts.1 = nil }
      return parts.1
    }
  }

  /// The token of the last attempt; it stays here.
  var token: FinishToken! { parts.withLock { $0.1 } }

  func started(_ token: FinishToken) {
    parts.withLock { $0.1 = token }
    starts.withLock { $0 }.raise()
  }

  /// Whether an attempt begins within the limit. May be called once for each attempt.
  func hasStarted() async -> Bool {
    let signal = starts.withLock { $0 }
    let isThere = await signal.wait()
    starts.withLock { $0 = Signal() }
    return isThere
  }
}

extension QueuedOperation {
  /// The operation's end, within the limit.
  func endInTime() async -> String {
    let signal = Signal()
    let task = Task {
      let end = await waitForEnd()
      signal.raise()
      return end
    }
    guard await signal.wait() else { return "no end within the limit" }
    return await task.value.text
  }
}

extension QueueEvent {
  /// An event as text, for comparisons.
  var text: String {
    let kind =
      switch self {
      case .enqueued: "enqueued"
      case .joined: "joined"
      case .started: "started"
      case .retrying: "retrying"
      case .ended: "ended"
      case .suspended, .resumed, .closed, .idle: "\(self)"
      }
    return kind + (operation?.number.map { " \($0)" } ?? "")
  }
}
