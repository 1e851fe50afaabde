/// Tasks that are isolated to an actor from their start: they go straight to the actor, in the
/// order in which they are created, rather than through the executor for non-isolated tasks.
///
/// A closure is isolated like its enclosing function. That function is isolated only by its type
/// and does nothing but create the task, so it may be called from anywhere.
extension Task where Failure == Never {
  @usableFromInline
  typealias ActorBody<ActorType: Actor> = @Sendable (isolated ActorType) async -> Success

  @inlinable
  init<ActorType: Actor>(
    name: String?, priority: TaskPriority?, in place: Place, on actor: ActorType,
    _ operation: @escaping ActorBody<ActorType>
  ) {
    typealias Isolated = (
      isolated ActorType, String?, TaskPriority?, Place, @escaping ActorBody<ActorType>
    ) -> Task
    typealias Anywhere = (
      ActorType, String?, TaskPriority?, Place, @escaping ActorBody<ActorType>
    ) -> Task
    let create: Isolated = Self.created
    self = unsafeBitCast(create, to: Anywhere.self)(actor, name, priority, place, operation)
  }

  @inlinable
  static func created<ActorType: Actor>(
    on actor: isolated ActorType, _ name: String?, _ priority: TaskPriority?,
    in place: Place, _ operation: @escaping ActorBody<ActorType>
  ) -> Task {
    Task(name: name, priority: priority) { await place.performInAnyCase(on: actor, operation) }
  }
}

extension Task where Failure == Never {
  @usableFromInline
  typealias HeldBody = () async -> Success

  /// A task that is held by its place in a FIFO queue.
  @inlinable
  init(priority: TaskPriority?, in place: HeldTask, _ operation: sending @escaping HeldBody) {
    typealias Isolated = (isolated HeldDoor, TaskPriority?, sending @escaping HeldBody) -> Task
    typealias Anywhere = (HeldDoor, TaskPriority?, sending @escaping HeldBody) -> Task
    let create: Isolated = Self.created
    self = unsafeBitCast(create, to: Anywhere.self)(HeldDoor(place), priority, operation)
  }

  @inlinable
  static func created(
    at door: isolated HeldDoor, _ priority: TaskPriority?,
    _ operation: sending @escaping HeldBody
  ) -> Task {
    // Called once, by the task that it is meant for.
    nonisolated(unsafe) let operation = operation
    return Task(priority: priority) { await door.place.performHeld(operation) }
  }
}

extension Task where Failure == any Error {
  @usableFromInline
  typealias ThrowingBody<ActorType: Actor> = @Sendable (isolated ActorType) async throws -> Success

  @inlinable
  init<ActorType: Actor>(
    name: String?, priority: TaskPriority?, in turn: Turn, on actor: ActorType,
    _ operation: @escaping ThrowingBody<ActorType>
  ) {
    typealias Isolated = (
      isolated ActorType, String?, TaskPriority?, Turn,
      @escaping ThrowingBody<ActorType>
    ) -> Task
    typealias Anywhere = (
      ActorType, String?, TaskPriority?, Turn,
      @escaping ThrowingBody<ActorType>
    ) -> Task
    let create: Isolated = Self.created
    self = unsafeBitCast(create, to: Anywhere.self)(actor, name, priority, turn, operation)
  }

  @inlinable
  static func created<ActorType: Actor>(
    on actor: isolated ActorType, _ name: String?, _ priority: TaskPriority?,
    in turn: Turn, _ operation: @escaping ThrowingBody<ActorType>
  ) -> Task {
    Task(name: name, priority: priority) { try await turn.perform(on: actor, operation) }
  }
}
