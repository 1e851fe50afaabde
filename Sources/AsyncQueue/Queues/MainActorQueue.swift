import Inturn

/// A queue whose operations begin on the main actor, in the order in which they are enqueued.
///
/// Like an ``ActorQueue`` of the main actor, but its operations take no parameter.
public final class MainActorQueue: WorkQueue, OrderedQueue, Sendable {
  let core: QueueCore

  /// The process's shared queue.
  public static let shared = MainActorQueue(label: "MainActorQueue.shared")

  /// Creates another queue on the main actor. Operations of different queues have no order among
  /// each other. The parameters are those of ``ActorQueue/init(label:capacity:clock:)``.
  public init(label: String? = nil, capacity: Int? = nil, clock: ManualClock? = nil) {
    core = QueueCore(
      .actor, label: label, capacity: capacity, clock: clock,
      pin: ActorPin<MainActor>(immortal: .shared), takesParameter: false)
  }

  deinit { core.release() }

  // MARK: From synchronous code

  /// Enqueues an operation, and returns at once.
  ///
  /// When the queue is closed or full, the operation never runs, which is reported. To find out,
  /// use ``tryEnqueue(_:fileID:line:)`` or ``enqueueWhenRoom(_:fileID:line:)``.
  @_disfavoredOverload
  public func enqueue(_ task: @escaping @Sendable @MainActor () async -> Void) {
    enqueue(task, at: .unknown)
  }

  /// As ``enqueue(_:)``, which is what `queue.enqueue` alone stands for; reports name the line. The
  /// parameters are those of ``FIFOQueue/enqueue(_:fileID:line:call:)``.
  public func enqueue<Call>(
    _ task: @escaping @Sendable @MainActor () async -> Void,
    fileID: StaticString = #fileID, line: UInt = #line, call: Call = ()
  ) {
    enqueue(task, at: Site(fileID, line))
  }

  private func enqueue(_ task: @escaping @Sendable @MainActor () async -> Void, at site: Site) {
    let status = core.addOnMainActor(task, at: site)
    if status != .ok { core.report(at: site, QueueError(status)) }
  }

  /// Enqueues an operation, or throws `QueueError.full` or `QueueError.closed` at once.
  public func tryEnqueue(
    _ task: @escaping @Sendable @MainActor () async -> Void, fileID: StaticString = #fileID,
    line: UInt = #line
  ) throws(QueueError) {
    let status = core.addOnMainActor(task, at: Site(fileID, line))
    if status != .ok { throw QueueError(status) }
  }

  /// The same with options.
  public func tryEnqueue(
    _ options: OperationOptions, fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable @MainActor () async -> Void
  ) throws(QueueError) {
    let condition = options.condition
    let status = core.enqueueTurn(options, at: Site(fileID, line)) { turn in
      Task { @MainActor in await turn.performTask(condition) { await task() } }
    }
    if status != .ok { throw QueueError(status) }
  }

  /// Enqueues an operation with options and a value; it runs on the main actor, in its own task. As
  /// ``ActorQueue/enqueueTask(_:fileID:line:_:)``.
  @discardableResult
  public func enqueueTask<Value: Sendable>(
    _ options: OperationOptions = OperationOptions(), fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @MainActor () async throws -> Value
  ) -> QueuedResult<Value> {
    let condition = options.condition
    return core.enqueueTask(options, fileID, line, Value.self) { turn in
      Task { @MainActor in await turn.performTask(condition) { try await body() } }
    }
  }

  // MARK: From asynchronous code

  /// Waits until there is room, then enqueues an operation.
  ///
  /// - Throws: `QueueError.closed`; `CancellationError` when the caller is cancelled meanwhile.
  public nonisolated(nonsending) func enqueueWhenRoom(
    _ task: @escaping @Sendable @MainActor () async -> Void, fileID: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    let site = Site(fileID, line)
    try await core.addWhenRoom(at: site) {
      core.addOnMainActor(task, at: site)
    } makeTask: { turn in
      Task { @MainActor in try? await turn.perform { await task() } }
    }
  }

  /// Runs a body in the calling task, on the main actor, beginning in its turn, and returns its
  /// value.
  ///
  /// The turn is taken on the main actor, as with ``ActorQueue/run(fileID:line:_:)``.
  ///
  /// - Throws: as ``ActorQueue/run(fileID:line:_:)``.
  @MainActor
  public func run<Value, Failure: Error>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @MainActor () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await core.run(isolation: MainActor.shared, fileID, line, body)
  }

  /// Enqueues an operation and waits for its value; it runs in the calling task, as with
  /// ``run(fileID:line:_:)``.
  public nonisolated(nonsending) func enqueueAndWait<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable @MainActor () async -> T
  ) async -> T {
    await run(fileID: fileID, line: line, task)
  }

  /// Enqueues an operation and waits for its value or error.
  ///
  /// - Throws: as ``run(fileID:line:_:)`` with an error type of `any Error`.
  public nonisolated(nonsending) func enqueueAndWait<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable @MainActor () async throws -> T
  ) async throws -> T {
    try await run(fileID: fileID, line: line, task)
  }
}

extension MainActor {
  /// A queue of the main actor, for `Task(on:)`.
  public static let queue = ActorQueue<MainActor>(
    immortal: .shared, label: "MainActor.queue")
}
