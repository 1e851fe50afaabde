extension Task where Failure == Never {
  /// A task that runs an operation in its turn on a FIFO queue: when all operations before it have
  /// ended.
  ///
  /// The turn is taken at once, in the order of the calls. The task has the caller's actor,
  /// priority and task-local values. The operation cannot throw, so it runs even when the task was
  /// cancelled before its turn, with `Task.isCancelled` true.
  ///
  /// When the queue is closed or full, that is reported: an operation without a value then never
  /// runs, and any other one runs in a cancelled task, outside of the queue, once the queue has
  /// done its work. If that may happen, use the form that throws.
  ///
  /// Deadlock: an operation that awaits the value of a task on its own queue throws
  /// `QueueError.deadlock` or, if it cannot, stops the program.
  ///
  /// - Parameters:
  ///   - name: The name of the task and the operation.
  ///   - priority: Nil for the queue's or, if that is nil, the caller's.
  ///   - fifoQueue: The queue.
  ///   - fileID: The file that creates the task, for messages.
  ///   - line: The line in that file.
  ///   - operation: What to run.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: FIFOQueue,
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async -> Success
  ) {
    self.init(name, priority, on: fifoQueue, nil, fileID, line) { await operation() }
  }

  /// A task that runs an operation on an actor, in its turn on a FIFO queue; see
  /// ``init(name:priority:on:operation:)``.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: FIFOQueue,
    isolatedTo isolatedActor: ActorType,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async -> Success
  ) {
    self.init(name, priority, on: fifoQueue, nil, fileID, line) { await operation(isolatedActor) }
  }
}

extension Task where Failure == any Error {
  /// A task that runs an operation in its turn on a FIFO queue, and may throw.
  ///
  /// The turn is taken at once, in the order of the calls. The task has the caller's actor,
  /// priority and task-local values. When it is cancelled before its turn, the operation leaves the
  /// queue at once and never runs, and the task throws `CancellationError`. When the queue is closed
  /// or full, it throws `QueueError`.
  ///
  /// Deadlock: an operation that awaits the value of a task on its own queue throws
  /// `QueueError.deadlock` or, if it cannot, stops the program.
  ///
  /// The parameters are those of the form that does not throw.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: FIFOQueue,
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    self.init(name, priority, on: fifoQueue, nil, fileID, line) { try await operation() }
  }

  /// A task that runs an operation on an actor, in its turn on a FIFO queue, and may throw; see
  /// ``init(name:priority:on:operation:)``.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: FIFOQueue,
    isolatedTo isolatedActor: ActorType,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async throws -> Success
  ) {
    self.init(name, priority, on: fifoQueue, nil, fileID, line) {
      try await operation(isolatedActor)
    }
  }
}
