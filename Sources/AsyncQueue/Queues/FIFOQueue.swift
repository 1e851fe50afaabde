internal import InturnCore

/// A queue whose operations begin and end in the order in which they are enqueued.
///
/// An operation is over when its closure has returned, not when it suspends: two never overlap, and
/// the next begins when the one before it has ended. Enqueues of one thread, or one task, keep
/// that order; enqueues of several are ordered as they reach the queue.
///
/// Plain enqueues keep their caller's priority and task-local values. They run in the queue's own
/// task, which takes one after the other; one whose caller has task-local values gets a task that
/// has them.
///
/// Deadlock: an operation must not wait for another one of its own queue. `run`, `enqueueAndWait`
/// and `drain`, called inside an operation or its child tasks, refuse to, as they refuse to close a
/// ring of several queues; so does the `value` or `result` of a `Task(on:)`.
public final class FIFOQueue: OrderedQueue, @unchecked Sendable {
  // Safe to share: `priority` never changes.

  @usableFromInline let priority: TaskPriority?

  /// - Parameters:
  ///   - name: what the queue is called in reports and messages.
  ///   - priority: the priority of its operations; nil for that of each one's caller.
  ///   - capacity: how many operations may be pending; nil for no limit.
  ///   - clock: the source of limits and timeouts.
  public init(
    name: String? = nil, priority: TaskPriority? = nil, capacity: Int? = nil,
    clock: QueueClock = .system
  ) {
    self.priority = priority
    super.init(QueueCore(.fifo, name: name, capacity: capacity, clock: clock))
  }

  // MARK: From synchronous code

  /// Enqueues an operation, and returns at once.
  ///
  /// Stops the program when the queue is closed, or has a capacity and is full: where that may be,
  /// use ``tryEnqueue(limits:_:)`` or ``enqueueWhenRoom(_:)``.
  public func enqueue(
    file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable () async -> Void
  ) {
    let status = add(nil, task)
    if status != .ok { core.stop(core.error(for: status), file, line) }
  }

  /// Enqueues an operation that runs on an actor, and returns at once; see
  /// ``enqueue(file:line:_:)``.
  public func enqueue<ActorType: Actor>(
    on isolatedActor: ActorType, file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async -> Void
  ) {
    enqueue(file: file, line: line) { await task(isolatedActor) }
  }

  /// Enqueues an operation, or throws ``QueueError/full`` or ``QueueError/closed`` at once.
  ///
  /// An operation that exceeds its limits before its start never runs; one that does while it runs
  /// has its task cancelled.
  public func tryEnqueue(
    limits: OperationLimits? = nil, _ task: @escaping @Sendable () async -> Void
  ) throws(QueueError) {
    let status = add(limits, task)
    if status != .ok { throw core.error(for: status) }
  }

  @inline(__always)
  private func add(
    _ limits: OperationLimits?, _ task: @escaping @Sendable () async -> Void
  ) -> Status {
    if limits == nil, let plain = core.plainPriority(priority) {
      return PlainClosure(task, plain).enqueue(core.queue)
    }
    return core.enqueueTurn(limits) { turn in
      Task(priority: priority) { try? await turn.perform(task) }
    }
  }

  // MARK: From asynchronous code

  /// Waits until there is room, then enqueues an operation.
  ///
  /// Who waits longest comes first.
  ///
  /// - Throws: ``QueueError/closed``; `CancellationError` when the caller is cancelled meanwhile.
  public func enqueueWhenRoom(_ task: @escaping @Sendable () async -> Void) async throws {
    try await core.addWhenRoom {
      add(nil, task)
    } makeTask: { turn in
      Task(priority: priority) { try? await turn.perform(task) }
    }
  }

  /// Runs a body in the calling task, in its turn, and returns what it gives.
  ///
  /// The body has all that is the task's: cancellation, priority, task-local values, the caller's
  /// isolation. When the queue is free, it begins without suspending. On a queue with a capacity,
  /// the call waits for room first.
  ///
  /// - Throws: what the body throws. Where its error type can hold them, as `any Error` can, also:
  ///   `CancellationError` when the task is cancelled before the body begins, which then never runs;
  ///   ``QueueError/deadlock(_:)``; ``QueueError/closed``. Where it cannot, the body runs in its
  ///   turn even when it is cancelled, and the others stop the program with a message.
  @inlinable
  public func run<Value, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, file: StaticString = #fileID,
    line: UInt = #line, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    try await core.run(isolation: isolation, file, line, body)
  }

  /// Runs a body that does not suspend in the calling task, in its turn, and returns what it gives;
  /// see ``run(isolation:file:line:_:)``.
  ///
  /// On a free queue it costs less than a call of an actor's method.
  @inlinable
  public nonisolated(nonsending) func run<Value, Failure: Error>(
    file: StaticString = #fileID, line: UInt = #line, _ body: () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard core.beginSection(canThrow: Failure.self != Never.self) else {
      return try await core.runInTurn(isolation: #isolation, limits: nil, file, line, body)
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

  /// Runs a body in the calling task, in its turn, within limits.
  ///
  /// The task itself is the caller's, and not cancelled when the body runs too long.
  ///
  /// - Throws: as ``run(isolation:file:line:_:)``; also ``QueueError/waitedTooLong``, and
  ///   ``QueueError/ranTooLong`` once the body has returned.
  public func run<Value>(
    limits: OperationLimits, isolation: isolated (any Actor)? = #isolation,
    file: StaticString = #fileID, line: UInt = #line, _ body: () async throws -> Value
  ) async throws -> Value {
    try Task.checkCancellation()
    return try await core.runInTurn(isolation: isolation, limits: limits, file, line, body)
  }

  /// Enqueues an operation and waits for its value; it runs in the calling task, as with
  /// ``run(isolation:file:line:_:)``.
  public func enqueueAndWait<T: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ task: @escaping @Sendable () async -> T
  ) async -> T {
    await core.run(isolation: nil, file, line, task)
  }

  /// Enqueues an operation that runs on an actor and waits for its value; it runs in the calling
  /// task, as with ``run(isolation:file:line:_:)``.
  public func enqueueAndWait<ActorType: Actor, T: Sendable>(
    on isolatedActor: isolated ActorType, file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async -> T
  ) async -> T {
    await core.run(isolation: isolatedActor, file, line) { await task(isolatedActor) }
  }

  /// Enqueues an operation and waits for its value or error.
  ///
  /// - Throws: as ``run(isolation:file:line:_:)`` with an error type of `any Error`.
  public func enqueueAndWait<T: Sendable>(
    file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable () async throws -> T
  ) async throws -> T {
    try await core.run(isolation: nil, file, line, task)
  }

  /// Enqueues an operation that runs on an actor and waits for its value or error.
  ///
  /// - Throws: as ``run(isolation:file:line:_:)`` with an error type of `any Error`.
  public func enqueueAndWait<ActorType: Actor, T: Sendable>(
    on isolatedActor: isolated ActorType, file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async throws -> T
  ) async throws -> T {
    try await core.run(isolation: isolatedActor, file, line) { try await task(isolatedActor) }
  }
}
