extension Task where Failure == Never {
  /// A task on a FIFO queue that ``CancellableQueue/cancelTasks()`` cancels, too.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: CancellableQueue<FIFOQueue>,
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async -> Success
  ) {
    self.init(name, priority, on: fifoQueue.underlyingQueue, fifoQueue.registry, fileID, line) {
      await operation()
    }
  }

  /// A task on a FIFO queue and an actor that ``CancellableQueue/cancelTasks()`` cancels, too.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: CancellableQueue<FIFOQueue>,
    isolatedTo isolatedActor: ActorType,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async -> Success
  ) {
    self.init(name, priority, on: fifoQueue.underlyingQueue, fifoQueue.registry, fileID, line) {
      await operation(isolatedActor)
    }
  }

  /// A task on an actor queue that ``CancellableQueue/cancelTasks()`` cancels, too.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil,
    on actorQueue: CancellableQueue<ActorQueue<ActorType>>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async -> Success
  ) {
    self.init(
      name, priority, on: actorQueue.underlyingQueue, actorQueue.registry, fileID, line, operation)
  }

  /// A task on a queue of the main actor that ``CancellableQueue/cancelTasks()`` cancels, too.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil,
    on actorQueue: CancellableQueue<ActorQueue<MainActor>>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @escaping @MainActor () async -> Success
  ) {
    self.init(
      onMain: name, priority, actorQueue.underlyingQueue, actorQueue.registry, fileID, line,
      operation)
  }
}

extension Task where Failure == any Error {
  /// A task on a FIFO queue that ``CancellableQueue/cancelTasks()`` cancels, too.
  /// It may throw.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: CancellableQueue<FIFOQueue>,
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    self.init(name, priority, on: fifoQueue.underlyingQueue, fifoQueue.registry, fileID, line) {
      try await operation()
    }
  }

  /// A task on a FIFO queue and an actor that ``CancellableQueue/cancelTasks()`` cancels, too.
  /// It may throw.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: CancellableQueue<FIFOQueue>,
    isolatedTo isolatedActor: ActorType,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async throws -> Success
  ) {
    self.init(name, priority, on: fifoQueue.underlyingQueue, fifoQueue.registry, fileID, line) {
      try await operation(isolatedActor)
    }
  }

  /// A task on an actor queue that ``CancellableQueue/cancelTasks()`` cancels, too.
  /// It may throw.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil,
    on actorQueue: CancellableQueue<ActorQueue<ActorType>>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async throws -> Success
  ) {
    self.init(
      name, priority, on: actorQueue.underlyingQueue, actorQueue.registry, fileID, line, operation)
  }

  /// A task on a queue of the main actor that ``CancellableQueue/cancelTasks()`` cancels, too.
  /// It may throw.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil,
    on actorQueue: CancellableQueue<ActorQueue<MainActor>>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @escaping @MainActor () async throws -> Success
  ) {
    self.init(
      onMain: name, priority, actorQueue.underlyingQueue, actorQueue.registry, fileID, line,
      operation)
  }
}
