/// Tasks with places in queues, to which all forms of `Task(on:)` lead. A place is taken first,
/// then the task is created with it, and the place is told of its task.
extension Task where Failure == Never {
  /// On a FIFO queue. `operation` changes to its actor by itself.
  @inlinable
  init(
    _ name: String?, _ priority: TaskPriority?, on queue: FIFOQueue, _ registry: TaskRegistry?,
    _ fileID: StaticString, _ line: UInt, _ operation: sending @escaping () async -> Success
  ) {
    let priority = priority ?? queue.priority
    if let holder = queue.core.holder(name, priority, in: registry, from: fileID, line) {
      self.init(priority: priority, in: holder, operation)
      holder.enqueue(TaskAddress(of: self))
      return
    }
    let turn = queue.core.turn(
      name, priority, isObstinate: true, in: registry, from: fileID, line)
    self.init(name: name, priority: priority) { await turn.performInAnyCase(operation) }
    turn.adopt(self)
  }

  /// On an actor.
  @inlinable
  init<ActorType: Actor>(
    _ name: String?, _ priority: TaskPriority?, on queue: ActorQueue<ActorType>,
    _ registry: TaskRegistry?, _ fileID: StaticString, _ line: UInt,
    _ operation: @escaping ActorBody<ActorType>
  ) {
    let actor = queue.actorOrStop(fileID, line)
    let place = queue.core.placeOnActor(name, priority, in: registry, from: fileID, line)
    self.init(name: name, priority: priority, in: place, on: actor, operation)
    place.adopt(self)
  }

  /// On the main actor.
  @inlinable
  init(
    onMain name: String?, _ priority: TaskPriority?, _ queue: ActorQueue<MainActor>,
    _ registry: TaskRegistry?, _ fileID: StaticString, _ line: UInt,
    _ operation: @escaping @MainActor () async -> Success
  ) {
    let place = queue.core.placeOnActor(name, priority, in: registry, from: fileID, line)
    self.init(name: name, priority: priority) { @MainActor in
      await place.performInAnyCase { await operation() }
    }
    place.adopt(self)
  }
}

/// The same for tasks that may throw.
extension Task where Failure == any Error {
  @inlinable
  init(
    _ name: String?, _ priority: TaskPriority?, on queue: FIFOQueue, _ registry: TaskRegistry?,
    _ fileID: StaticString, _ line: UInt, _ operation: sending @escaping () async throws -> Success
  ) {
    let priority = priority ?? queue.priority
    let turn = queue.core.turn(name, priority, in: registry, from: fileID, line)
    self.init(name: name, priority: priority) { try await turn.perform(operation) }
    turn.adopt(self)
  }

  @inlinable
  init<ActorType: Actor>(
    _ name: String?, _ priority: TaskPriority?, on queue: ActorQueue<ActorType>,
    _ registry: TaskRegistry?, _ fileID: StaticString, _ line: UInt,
    _ operation: @escaping ThrowingBody<ActorType>
  ) {
    guard let actor = queue.actor else {
      self.init(name: name, priority: priority) { throw QueueError.noActor }
      return
    }
    let turn = queue.core.turn(name, priority, in: registry, from: fileID, line)
    self.init(name: name, priority: priority, in: turn, on: actor, operation)
    turn.adopt(self)
  }

  @inlinable
  init(
    onMain name: String?, _ priority: TaskPriority?, _ queue: ActorQueue<MainActor>,
    _ registry: TaskRegistry?, _ fileID: StaticString, _ line: UInt,
    _ operation: @escaping @MainActor () async throws -> Success
  ) {
    let turn = queue.core.turn(name, priority, in: registry, from: fileID, line)
    self.init(name: name, priority: priority) { @MainActor in
      try await turn.perform { try await operation() }
    }
    turn.adopt(self)
  }
}
