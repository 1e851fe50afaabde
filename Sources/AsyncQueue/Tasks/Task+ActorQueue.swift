extension Task where Failure == Never {
  /// A task that runs an operation on a queue's actor, beginning in its turn: when all operations
  /// before it have ended or suspended.
  ///
  /// The turn is taken at once, in the order of the calls, regardless of priorities. The task has
  /// the caller's priority and task-local values. The operation cannot throw, so it runs even when
  /// the task was cancelled before its turn, with `Task.isCancelled` true.
  ///
  /// Stops the program when the queue has no actor. When it is closed or full, that is reported: an
  /// operation without a value then never runs, and any other one runs in a cancelled task, outside
  /// of the queue, once the queue has done its work. If that may happen, use the form that throws.
  ///
  /// - Parameters:
  ///   - name: The name of the task and the operation.
  ///   - priority: Nil for the caller's.
  ///   - actorQueue: The queue.
  ///   - fileID: The file that creates the task, for messages.
  ///   - line: The line in that file.
  ///   - operation: What to run.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil, on actorQueue: ActorQueue<ActorType>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async -> Success
  ) {
    self.init(name, priority, on: actorQueue, nil, fileID, line, operation)
  }

  /// A task that runs an operation on the main actor, beginning in its turn; see
  /// ``init(name:priority:on:operation:)``.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil, on actorQueue: ActorQueue<MainActor>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @MainActor @escaping () async -> Success
  ) {
    self.init(onMain: name, priority, actorQueue, nil, fileID, line, operation)
  }
}

extension Task where Failure == any Error {
  /// A task that runs an operation on a queue's actor, beginning in its turn, and may throw.
  ///
  /// The turn is taken at once, in the order of the calls, regardless of priorities. When the task
  /// is cancelled before its turn, the operation leaves the queue at once and never runs, and the
  /// task throws `CancellationError`. When the queue has no actor, is closed or full, it throws
  /// `QueueError`.
  ///
  /// The parameters are those of the form that does not throw.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil, on actorQueue: ActorQueue<ActorType>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @escaping @Sendable (isolated ActorType) async throws -> Success
  ) {
    self.init(name, priority, on: actorQueue, nil, fileID, line, operation)
  }

  /// A task that runs an operation on the main actor, beginning in its turn, and may throw; see
  /// ``init(name:priority:on:operation:)``.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil, on actorQueue: ActorQueue<MainActor>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @escaping @MainActor () async throws -> Success
  ) {
    self.init(onMain: name, priority, actorQueue, nil, fileID, line, operation)
  }
}
