import Inturn

/// A queue whose operations begin and end in the order in which they are enqueued.
///
/// An operation is over when its closure has returned, not when it suspends: no two overlap, and
/// the next one begins when the one before it has ended. (One that a deadline ends before its
/// closure has returned gives up its place only where its options say so.) Enqueues from one thread
/// or task keep their order; enqueues from several are ordered as they reach the queue.
///
/// Plain enqueues keep their caller's priority and task-local values. They run in the queue's own
/// task, one after the other; an operation whose caller has task-local values gets its own task,
/// which inherits them.
///
/// Deadlock: an operation must not wait for another one in its own queue. Inside an operation or
/// its child tasks, `run`, `enqueueAndWait`, `enqueueWhenRoom` and `drain` refuse to do so, and to
/// close a ring of several queues. So does the `value` or `result` of a `Task(on:)`. Time limits of
/// what is waited for make no difference.
public final class FIFOQueue: WorkQueue, OrderedQueue, Sendable {
  @usableFromInline let core: QueueCore
  @usableFromInline let priority: TaskPriority?

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - label: The queue's name in reports and messages.
  ///   - priority: The priority of its operations; nil for each caller's.
  ///   - capacity: How many operations may be pending, at least one; nil for no limit.
  ///   - clock: The source of deadlines, delays and time-outs; nil for the system's clock.
  public init(
    label: String? = nil, priority: TaskPriority? = nil, capacity: Int? = nil,
    clock: ManualClock? = nil
  ) {
    self.priority = priority
    core = QueueCore(.fifo, label: label, capacity: capacity, clock: clock)
  }

  /// The same, with swift-async-queue's name for the label.
  public convenience init(name: String?, priority: TaskPriority? = nil) {
    self.init(label: name, priority: priority)
  }

  deinit { core.release() }

  // MARK: From synchronous code

  /// Enqueues an operation, and returns at once.
  ///
  /// When the queue is closed or full, the operation never runs, which is reported. To find out,
  /// use ``tryEnqueue(_:fileID:line:)`` or ``enqueueWhenRoom(_:fileID:line:)``.
  @_disfavoredOverload
  public func enqueue(_ task: @escaping @Sendable () async -> Void) { enqueue(task, at: .unknown) }

  /// As ``enqueue(_:)``, which is what `queue.enqueue` alone stands for; reports name the line.
  ///
  /// - Parameters:
  ///   - task: As there.
  ///   - fileID: Where it is enqueued.
  ///   - line: The same.
  ///   - call: Leave it out: only a call states its type, so the bare method name refers to the
  ///     other overload.
  public func enqueue<Call>(
    _ task: @escaping @Sendable () async -> Void,
    fileID: StaticString = #fileID, line: UInt = #line, call: Call = ()
  ) {
    enqueue(task, at: Site(fileID, line))
  }

  private func enqueue(_ task: @escaping @Sendable () async -> Void, at site: Site) {
    let status = add(task, at: site)
    if status != .ok { core.report(at: site, QueueError(status)) }
  }

  /// Enqueues an operation that runs on an actor, and returns at once; see ``enqueue(_:)``.
  @_disfavoredOverload
  public func enqueue<ActorType: Actor>(
    on isolatedActor: ActorType, fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async -> Void
  ) {
    enqueue({ await task(isolatedActor) }, at: Site(fileID, line))
  }

  /// Enqueues an operation, or throws `QueueError.full` or `QueueError.closed` at once.
  public func tryEnqueue(
    _ task: @escaping @Sendable () async -> Void, fileID: StaticString = #fileID,
    line: UInt = #line
  ) throws(QueueError) {
    let status = add(task, at: Site(fileID, line))
    if status != .ok { throw QueueError(status) }
  }

  /// The same with options.
  ///
  /// An operation that exceeds its `maxWait` never runs; one that exceeds its `maxRun` has its task
  /// cancelled.
  public func tryEnqueue(
    _ options: OperationOptions, fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable () async -> Void
  ) throws(QueueError) {
    let condition = options.condition
    let status = core.enqueueTurn(options, at: Site(fileID, line)) { [priority] turn in
      Task(priority: priority) { await turn.performTask(condition, task) }
    }
    if status != .ok { throw QueueError(status) }
  }

  /// Enqueues an operation with options and a value; it runs in its own task.
  ///
  /// Cancelling the operation cancels the task, and so does a deadline. With a retry, each attempt
  /// is a task of its own, and the operation keeps its place between attempts. An operation that
  /// joins another one has no turn: its body is not called. A priority or `isUrgent` is refused,
  /// which is reported.
  ///
  /// - Parameters:
  ///   - options: What it waits for, and how it is handled.
  ///   - fileID: Where it is enqueued, for reports.
  ///   - line: The same.
  ///   - body: Called once for each attempt.
  @discardableResult
  public func enqueueTask<Value: Sendable>(
    _ options: OperationOptions = OperationOptions(), fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable () async throws -> Value
  ) -> QueuedResult<Value> {
    let condition = options.condition
    return core.enqueueTask(options, fileID, line, Value.self) { [priority] turn in
      Task(priority: priority) { await turn.performTask(condition) { try await body() } }
    }
  }

  @inline(__always)
  private func add(
    _ task: @escaping @Sendable () async -> Void, at site: Site
  ) -> Status {
    if let plain = core.plainPriority(priority) {
      return PlainClosure(task, plain).enqueue(core.queue, at: site)
    }
    return core.enqueueTurn(at: site) { [priority] turn in
      Task(priority: priority) { try? await turn.perform(task) }
    }
  }

  // MARK: From asynchronous code

  /// Waits until there is room, then enqueues an operation.
  ///
  /// The longest waiting caller goes first.
  ///
  /// - Throws: `QueueError.closed`; `CancellationError` when the caller is cancelled meanwhile.
  public nonisolated(nonsending) func enqueueWhenRoom(
    _ task: @escaping @Sendable () async -> Void, fileID: StaticString = #fileID,
    line: UInt = #line
  ) async throws {
    let site = Site(fileID, line)
    try await core.addWhenRoom(at: site) {
      add(task, at: site)
    } makeTask: { turn in
      Task(priority: priority) { try? await turn.perform(task) }
    }
  }

  /// Runs a body in the calling task, in its turn, and returns its value.
  ///
  /// The body has everything that the task has: cancellation, priority, task-local values, the
  /// caller's isolation. When the queue is free, it begins without suspending. On a queue with a
  /// capacity, the call waits for room first.
  ///
  /// - Throws: What the body throws. If its error type can hold them, as `any Error` can, also:
  ///   `CancellationError` when the task is cancelled before the body begins, which then never
  ///   runs; `QueueError.deadlock`; `QueueError.closed`. If it cannot, the body runs in its turn
  ///   even when it is cancelled. A refusal by the queue is then reported: a body without a value
  ///   never runs, and one with a value runs when the queue has done its work.
  @inlinable
  public func run<Value, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, fileID: StaticString = #fileID,
    line: UInt = #line, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await core.run(isolation: isolation, fileID, line, body)
  }

  /// Runs a body that does not suspend in the calling task, in its turn, and returns its value; see
  /// ``run(isolation:fileID:line:_:)``.
  ///
  /// On a free queue, it costs less than calling an actor's method.
  @inlinable
  public nonisolated(nonsending) func run<Value, Failure: Error>(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard core.beginSection(canThrow: Failure.self != Never.self) else {
      return try await core.runInTurn(isolation: #isolation, options: nil, fileID, line, body)
    }
    do throws(Failure) {
      let value = try body()
      core.endVisit()
      return value
    } catch {
      core.endVisit(error)
      throw error
    }
  }

  /// Runs a body in the calling task, in its turn, with options.
  ///
  /// The task is the caller's, so it is not cancelled when the body runs too long. So is the value:
  /// an operation that joins this one ends as it does, but without a value.
  ///
  /// - Throws: As ``run(isolation:fileID:line:_:)``; also `QueueError.full` or `QueueError.ownerGone`
  ///   when its owner refuses it, and `QueueError.ended` when a deadline has ended the operation: once
  ///   the body has returned, if it had begun.
  public func run<Value>(
    _ options: OperationOptions, isolation: isolated (any Actor)? = #isolation,
    fileID: StaticString = #fileID, line: UInt = #line, _ body: () async throws -> Value
  ) async throws -> Value {
    if options.condition != nil || options.retry != nil || options.joins {
      throw QueueError.unsupported(
        "run(_:_:) calls its body once: condition, retry and joins are for enqueueTask(_:_:).")
    }
    try Task.checkCancellation()
    return try await core.runInTurn(isolation: isolation, options: options, fileID, line, body)
  }

  /// Enqueues an operation and waits for its value; it runs in the calling task, as with
  /// ``run(isolation:fileID:line:_:)``.
  public nonisolated(nonsending) func enqueueAndWait<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line, _ task: @escaping @Sendable () async -> T
  ) async -> T {
    await core.run(isolation: #isolation, fileID, line, task)
  }

  /// Enqueues an operation that runs on an actor and waits for its value; it runs in the calling
  /// task, as with ``run(isolation:fileID:line:_:)``.
  public func enqueueAndWait<ActorType: Actor, T: Sendable>(
    on isolatedActor: isolated ActorType, fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async -> T
  ) async -> T {
    await core.run(isolation: isolatedActor, fileID, line) { await task(isolatedActor) }
  }

  /// Enqueues an operation and waits for its value or error.
  ///
  /// - Throws: as ``run(isolation:fileID:line:_:)`` with an error type of `any Error`.
  public nonisolated(nonsending) func enqueueAndWait<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable () async throws -> T
  ) async throws -> T {
    try await core.run(isolation: #isolation, fileID, line, task)
  }

  /// Enqueues an operation that runs on an actor and waits for its value or error.
  ///
  /// - Throws: as ``run(isolation:fileID:line:_:)`` with an error type of `any Error`.
  public func enqueueAndWait<ActorType: Actor, T: Sendable>(
    on isolatedActor: isolated ActorType, fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async throws -> T
  ) async throws -> T {
    try await core.run(isolation: isolatedActor, fileID, line) { try await task(isolatedActor) }
  }
}
