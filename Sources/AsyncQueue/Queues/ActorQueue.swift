internal import InturnCore

/// A queue whose operations begin on an actor, in the order in which they are enqueued.
///
/// An operation runs isolated to the queue's actor. The order holds until the operation suspends
/// first: then the next one may begin. Code between suspensions never overlaps, and an operation
/// may wait for others of its own queue. The order holds whatever the priorities are, and whatever
/// else the actor does.
///
/// An actor queue needs its actor. Create it with ``init(of:name:capacity:clock:)``, or, as a
/// constant of the actor itself, adopt the actor in its `init`. It holds the actor weakly; what is
/// pending keeps it alive. Without an actor, or once that is gone, forms that throw give
/// ``QueueError/noActor``, and the others stop the program with a message that says what to do.
public final class ActorQueue<ActorType: Actor>: OrderedQueue, @unchecked Sendable {
  // Safe to share: `pin` never changes, and is safe to share itself.

  private let pin: ActorPin<ActorType>

  /// A queue without an actor; see ``adoptExecutionContext(of:)``.
  public init(
    name: String? = nil, capacity: Int? = nil, clock: QueueClock = .system
  ) {
    pin = ActorPin()
    super.init(QueueCore(.actor, name: name, capacity: capacity, clock: clock, pin: pin))
  }

  /// A queue of an actor that lives as long as the process.
  init(immortal actor: ActorType, name: String) {
    pin = ActorPin(immortal: actor)
    super.init(QueueCore(.actor, name: name, capacity: nil, clock: .system, pin: pin))
  }

  /// A queue of an actor.
  public convenience init(
    of actor: ActorType, name: String? = nil, capacity: Int? = nil, clock: QueueClock = .system
  ) {
    self.init(name: name, capacity: capacity, clock: clock)
    adoptExecutionContext(of: actor)
  }

  /// Makes an actor the queue's, before anything is enqueued. A queue has one actor for all its
  /// life: a second call stops the program.
  public func adoptExecutionContext(of actor: ActorType) {
    precondition(
      pin.adopt(actor),
      "An actor queue adopts one actor, once. Make another queue for another actor.")
  }

  /// The actor, as long as it lives.
  @usableFromInline var actor: ActorType? { pin.actor }

  @usableFromInline
  func actorOrStop(_ file: StaticString, _ line: UInt) -> ActorType {
    guard let actor else { core.stop(QueueError.noActor, file, line) }
    return actor
  }

  // MARK: From synchronous code

  /// Enqueues an operation, and returns at once.
  ///
  /// Stops the program when the queue has no actor, is closed, or has a capacity and is full: where
  /// that may be, use ``tryEnqueue(limits:_:)`` or ``enqueueWhenRoom(_:)``.
  public func enqueue(
    file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async -> Void
  ) {
    guard let status = core.add(nil, on: pin, task) else {
      core.stop(QueueError.noActor, file, line)
    }
    if status != .ok { core.stop(core.error(for: status), file, line) }
  }

  /// Enqueues an operation, or throws ``QueueError/full``, ``QueueError/closed`` or
  /// ``QueueError/noActor`` at once.
  public func tryEnqueue(
    limits: OperationLimits? = nil,
    _ task: @escaping @Sendable (isolated ActorType) async -> Void
  ) throws(QueueError) {
    guard let status = core.add(limits, on: pin, task) else { throw .noActor }
    if status != .ok { throw core.error(for: status) }
  }

  // MARK: From asynchronous code

  /// Waits until there is room, then enqueues an operation.
  ///
  /// - Throws: ``QueueError/closed``, ``QueueError/noActor``; `CancellationError` when the caller is
  ///   cancelled meanwhile.
  public func enqueueWhenRoom(
    _ task: @escaping @Sendable (isolated ActorType) async -> Void
  ) async throws {
    // Kept until it is in.
    guard let actor else { throw QueueError.noActor }
    try await core.addWhenRoom {
      core.add(nil, on: pin, task)!
    } makeTask: { turn in
      Task { try? await turn.perform(on: actor, task) }
    }
  }

  /// Runs a body in the calling task, on the actor, beginning in its turn; returns what it gives.
  ///
  /// - Throws: what the body throws. Where its error type can hold them, also: `CancellationError`
  ///   when the task is cancelled before the body begins, which then never runs;
  ///   ``QueueError/closed``; ``QueueError/noActor``. Where it cannot, the body runs in its turn
  ///   even when it is cancelled, and the others stop the program with a message.
  public func run<Value: Sendable, Failure: Error>(
    file: StaticString = #fileID, line: UInt = #line,
    _ body: @Sendable (isolated ActorType) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard let actor else {
      if let error = QueueError.noActor as? Failure { throw error }
      core.stop(QueueError.noActor, file, line)
    }
    return try await core.run(on: actor, file, line, body)
  }

  /// Enqueues an operation and waits for its value; it runs in the calling task, as with
  /// ``run(file:line:_:)``.
  public func enqueueAndWait<T: Sendable>(
    file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async -> T
  ) async -> T {
    await core.run(on: actorOrStop(file, line), file, line, task)
  }

  /// Enqueues an operation and waits for its value or error.
  ///
  /// - Throws: as ``run(file:line:_:)`` with an error type of `any Error`.
  public func enqueueAndWait<T: Sendable>(
    file: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async throws -> T
  ) async throws -> T {
    guard let actor else { throw QueueError.noActor }
    return try await core.run(on: actor, file, line, task)
  }
}
