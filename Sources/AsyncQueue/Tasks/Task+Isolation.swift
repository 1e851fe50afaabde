/// Tasks that are isolated to an actor from their beginning: they go straight to its door, in the
/// order in which they are created, and not over the executor of those that are not isolated.
///
/// A closure is isolated as the function that it is in. That function is isolated only by its type,
/// and does nothing but create the task: so it may be called from anywhere.
extension Task where Failure == Never {
  @inlinable
  init<ActorType: Actor>(
    name: String?, priority: TaskPriority?, at actor: ActorType,
    _ operation: @escaping @Sendable (isolated ActorType) async -> Success
  ) {
    typealias Isolated = (isolated ActorType) -> Task
    typealias Anywhere = (ActorType) -> Task
    let create: Isolated = { actor in
      Task(name: name, priority: priority) { await operation(actor) }
    }
    self = unsafeBitCast(create, to: Anywhere.self)(actor)
  }
}

extension Task where Failure == any Error {
  @inlinable
  init<ActorType: Actor>(
    name: String?, priority: TaskPriority?, at actor: ActorType,
    _ operation: @escaping @Sendable (isolated ActorType) async throws -> Success
  ) {
    typealias Isolated = (isolated ActorType) -> Task
    typealias Anywhere = (ActorType) -> Task
    let create: Isolated = { actor in
      Task(name: name, priority: priority) { try await operation(actor) }
    }
    self = unsafeBitCast(create, to: Anywhere.self)(actor)
  }
}
