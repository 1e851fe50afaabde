extension Task where Failure == Never {
  /// A task on a FIFO queue that can be cancelled together with others.
  ///
  /// As a task on the queue itself, but for ``CancellableQueue/cancelTasks()``.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: CancellableQueue<FIFOQueue>,
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async -> Success
  ) {
    let priority = priority ?? fifoQueue.underlyingQueue.priority
    if let holder = fifoQueue.underlyingQueue.core.holder(
      name, priority, in: fifoQueue.registry, from: fileID, line)
    {
      self.init(priority: priority, in: holder) { await operation() }
      holder.enqueue(self)
      return
    }
    let turn = fifoQueue.underlyingQueue.core.turnInAnyCase(
      name, priority, in: fifoQueue.registry, from: fileID, line)
    self.init(name: name, priority: priority) {
      await turn.performInAnyCase { await operation() }
    }
    turn.adopt(self)
  }

  /// A task on a FIFO queue and an actor that can be cancelled together with others.
  ///
  /// As a task on the queue itself, but for ``CancellableQueue/cancelTasks()``.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: CancellableQueue<FIFOQueue>,
    isolatedTo isolatedActor: ActorType,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async -> Success
  ) {
    let priority = priority ?? fifoQueue.underlyingQueue.priority
    if let holder = fifoQueue.underlyingQueue.core.holder(
      name, priority, in: fifoQueue.registry, from: fileID, line)
    {
      self.init(priority: priority, in: holder) { await operation(isolatedActor) }
      holder.enqueue(self)
      return
    }
    let turn = fifoQueue.underlyingQueue.core.turnInAnyCase(
      name, priority, in: fifoQueue.registry, from: fileID, line)
    self.init(name: name, priority: priority) {
      await turn.performInAnyCase { await operation(isolatedActor) }
    }
    turn.adopt(self)
  }

  /// A task on an actor queue that can be cancelled together with others.
  ///
  /// As a task on the queue itself, but for ``CancellableQueue/cancelTasks()``.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil,
    on actorQueue: CancellableQueue<ActorQueue<ActorType>>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async -> Success
  ) {
    let actor = actorQueue.underlyingQueue.actorOrStop(fileID, line)
    let place = actorQueue.underlyingQueue.core.placeOnActor(
      name, priority, in: actorQueue.registry, from: fileID, line)
    self.init(name: name, priority: priority, in: place, on: actor, operation)
    place.adopt(self)
  }

  /// A task on a queue of the main actor that can be cancelled together with others.
  ///
  /// As a task on the queue itself, but for ``CancellableQueue/cancelTasks()``.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil,
    on actorQueue: CancellableQueue<ActorQueue<MainActor>>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @escaping @MainActor () async -> Success
  ) {
    let place = actorQueue.underlyingQueue.core.placeOnActor(
      name, priority, in: actorQueue.registry, from: fileID, line)
    self.init(name: name, priority: priority) { @MainActor in
      await place.performInAnyCase { await operation() }
    }
    place.adopt(self)
  }
}

extension Task where Failure == any Error {
  /// A task on a FIFO queue that can be cancelled together with others, and may throw.
  ///
  /// As a task on the queue itself, but for ``CancellableQueue/cancelTasks()``.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: CancellableQueue<FIFOQueue>,
    fileID: StaticString = #fileID, line: UInt = #line,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) {
    let turn = fifoQueue.underlyingQueue.core.turnForTask(
      name, priority ?? fifoQueue.underlyingQueue.priority, in: fifoQueue.registry, from: fileID,
      line
    )
    self.init(name: name, priority: priority ?? fifoQueue.underlyingQueue.priority) {
      try await turn.get().perform { try await operation() }
    }
    if case .success(let turn) = turn { turn.adopt(self) }
  }

  /// A task on a FIFO queue and an actor that can be cancelled together with others, and may throw.
  ///
  /// As a task on the queue itself, but for ``CancellableQueue/cancelTasks()``.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil, on fifoQueue: CancellableQueue<FIFOQueue>,
    isolatedTo isolatedActor: ActorType,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async throws -> Success
  ) {
    let turn = fifoQueue.underlyingQueue.core.turnForTask(
      name, priority ?? fifoQueue.underlyingQueue.priority, in: fifoQueue.registry, from: fileID,
      line
    )
    self.init(name: name, priority: priority ?? fifoQueue.underlyingQueue.priority) {
      try await turn.get().perform { try await operation(isolatedActor) }
    }
    if case .success(let turn) = turn { turn.adopt(self) }
  }

  /// A task on an actor queue that can be cancelled together with others, and may throw.
  ///
  /// As a task on the queue itself, but for ``CancellableQueue/cancelTasks()``.
  @discardableResult
  @inlinable
  public init<ActorType: Actor>(
    name: String? = nil, priority: TaskPriority? = nil,
    on actorQueue: CancellableQueue<ActorQueue<ActorType>>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @Sendable @escaping (isolated ActorType) async throws -> Success
  ) {
    guard let actor = actorQueue.underlyingQueue.actor else {
      self.init(name: name, priority: priority) { throw QueueError.noActor }
      return
    }
    let turn = actorQueue.underlyingQueue.core.turnForTask(
      name, priority, in: actorQueue.registry, from: fileID, line)
    self.init(name: name, priority: priority, in: turn, on: actor, operation)
    if case .success(let turn) = turn { turn.adopt(self) }
  }

  /// A task on a queue of the main actor that can be cancelled together with others, and may throw.
  ///
  /// As a task on the queue itself, but for ``CancellableQueue/cancelTasks()``.
  @discardableResult
  @inlinable
  public init(
    name: String? = nil, priority: TaskPriority? = nil,
    on actorQueue: CancellableQueue<ActorQueue<MainActor>>,
    fileID: StaticString = #fileID, line: UInt = #line,
    operation: @escaping @MainActor () async throws -> Success
  ) {
    let turn = actorQueue.underlyingQueue.core.turnForTask(
      name, priority, in: actorQueue.registry, from: fileID, line)
    self.init(name: name, priority: priority) { @MainActor in
      try await turn.get().perform { try await operation() }
    }
    if case .success(let turn) = turn { turn.adopt(self) }
  }
}
