internal import InturnCore

/// A queue whose operations begin on the main actor, in the order in which they are enqueued.
///
/// It is as an ``ActorQueue`` of the main actor, and its operations need no parameter.
public final class MainActorQueue: OrderedQueue, @unchecked Sendable {
  // Safe to share: it has nothing that its superclass has not.

  /// The queue of the process.
  public static let shared = MainActorQueue(name: "MainActorQueue.shared")

  /// Another queue on the main actor. Two queues have no order between each other.
  public init(name: String? = nil, capacity: Int? = nil, clock: QueueClock = .system) {
    super.init(
      QueueCore(
        .actor, name: name, capacity: capacity, clock: clock,
        pin: ActorPin<MainActor>(immortal: .shared), takesParameter: false))
  }

  // MARK: From synchronous code

  /// Enqueues an operation, and returns at once.
  ///
  /// Stops the program when the queue is closed, or has a capacity and is full: where that may be,
  /// use ``tryEnqueue(limits:_:)`` or ``enqueueWhenRoom(_:)``.
  public func enqueue(
    file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable @MainActor () async -> Void
  ) {
    let status = core.addOnMainActor(nil, task)
    if status != .ok { core.stop(core.error(for: status), file, line) }
  }

  /// Enqueues an operation, or throws ``QueueError/full`` or ``QueueError/closed`` at once.
  public func tryEnqueue(
    limits: OperationLimits? = nil, _ task: @escaping @Sendable @MainActor () async -> Void
  ) throws(QueueError) {
    let status = core.addOnMainActor(limits, task)
    if status != .ok { throw core.error(for: status) }
  }

  // MARK: From asynchronous code

  /// Waits until there is room, then enqueues an operation.
  ///
  /// - Throws: ``QueueError/closed``; `CancellationError` when the caller is cancelled meanwhile.
  public func enqueueWhenRoom(
    _ task: @escaping @Sendable @MainActor () async -> Void
  ) async throws {
    try await core.addWhenRoom {
      core.addOnMainActor(nil, task)
    } makeTask: { turn in
      Task { @MainActor in try? await turn.perform { await task() } }
    }
  }

  /// Runs a body in the calling task, on the main actor, beginning in its turn; returns what it
  /// gives.
  ///
  /// - Throws: as ``ActorQueue/run(file:line:_:)``.
  @MainActor
  public func run<Value, Failure: Error>(
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @MainActor () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await core.run(isolation: MainActor.shared, file, line, body)
  }

  /// Enqueues an operation and waits for its value; it runs in the calling task, as with
  /// ``run(file:line:_:)``.
  public func enqueueAndWait<T: Sendable>(
    file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable @MainActor () async -> T
  ) async -> T {
    await run(file: file, line: line, task)
  }

  /// Enqueues an operation and waits for its value or error.
  ///
  /// - Throws: as ``run(file:line:_:)`` with an error type of `any Error`.
  public func enqueueAndWait<T: Sendable>(
    file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable @MainActor () async throws -> T
  ) async throws -> T {
    try await run(file: file, line: line, task)
  }
}

extension MainActor {
  /// A queue of the main actor, for `Task(on:)`.
  public static let queue = ActorQueue<MainActor>(
    immortal: .shared, name: "MainActor.queue")
}
