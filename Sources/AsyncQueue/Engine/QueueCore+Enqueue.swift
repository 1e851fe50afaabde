internal import InturnCore

/// Adding operations, in each of the ways that they come.
extension QueueCore {
  /// What a plain operation of the caller's may be; nil when its caller has task-local values, a
  /// priority of its own or somebody watches: then it needs a task.
  @inline(__always)
  func plainPriority(_ own: TaskPriority?) -> PlainPriority? {
    if interests.load(ordering: .relaxed) & Interest.events != 0 { return nil }
    guard let priority = PlainPriority(own?.rawValue ?? RuntimeTask.priority) else { return nil }
    return RuntimeLocals.areBound ? nil : priority
  }

  /// Puts an operation in whose closure has a task of its own, which is created by `makeTask`.
  func enqueueTurn(_ limits: OperationLimits?, makeTask: (Turn) -> Task<Void, Never>) -> Status {
    let turn = Turn(self, isObstinate: false)
    let status = turn.enqueue(limits)
    if status == .ok { turn.adopt(makeTask(turn)) }
    return status
  }

  /// The turn of a task that is about to be created, or what refuses it.
  @usableFromInline
  func turnForTask(
    _ name: String?, _ priority: TaskPriority?, isObstinate: Bool = false,
    in registry: TaskRegistry? = nil, from file: StaticString, _ line: UInt
  ) -> Result<Turn, QueueError> {
    let turn = Turn(
      self, name: name, isObstinate: isObstinate, priority: priority, registry: registry,
      origin: Origin(file, line))
    let status = turn.enqueue(nil)
    if status == .ok { return .success(turn) }
    registry?.remove(turn)
    return .failure(error(for: status))
  }

  /// The turn of a task that cannot throw; stops the program when it is refused.
  @usableFromInline
  func turnInAnyCase(
    _ name: String?, _ priority: TaskPriority?, in registry: TaskRegistry? = nil,
    from file: StaticString, _ line: UInt
  ) -> Turn {
    switch turnForTask(name, priority, isObstinate: true, in: registry, from: file, line) {
    case .success(let turn): turn
    case .failure(let error): stop(error, file, line)
    }
  }

  /// The place of a task on an actor that cannot throw; stops the program when it is refused.
  @usableFromInline
  func placeOnActor(
    _ name: String?, _ priority: TaskPriority?, in registry: TaskRegistry? = nil,
    from file: StaticString, _ line: UInt
  ) -> OwnedFrame {
    // The lane counts a ticket as ended when its body begins, which states would tell.
    let isObserved = interests.load(ordering: .relaxed) & Interest.states != 0
    if isObserved || !isPlain(name) {
      return turnInAnyCase(name, priority, in: registry, from: file, line)
    }
    let ticket = Ticket(
      self, priority: priority, registry: registry, origin: Origin(file, line))
    let status = ticket.enqueue()
    if status != .ok { stop(error(for: status), file, line) }
    return ticket
  }

  /// What holds a task of a FIFO queue that cannot throw until it has its turn, or nil when it needs
  /// a turn of its own.
  @usableFromInline
  func holder(
    _ name: String?, _ priority: TaskPriority?, in registry: TaskRegistry? = nil,
    from file: StaticString, _ line: UInt
  ) -> HeldTask? {
    if !isPlain(name) { return nil }
    return HeldTask(self, priority: priority, registry: registry, origin: Origin(file, line))
  }

  /// Whether nobody is told of the operation.
  private func isPlain(_ name: String?) -> Bool {
    name == nil && interests.load(ordering: .relaxed) & Interest.events == 0
  }

  /// A turn for the calling task, waiting for room if there is none. Throws what refuses it.
  func turnForCaller(
    isObstinate: Bool, limits: OperationLimits? = nil,
    isolation: isolated (any Actor)? = #isolation
  ) async throws -> Turn {
    let turn = Turn(self, isObstinate: isObstinate)
    switch isRoomAwaited ? .full : turn.enqueue(limits) {
    case .ok: break
    case .full: try await enqueueWhenRoom(turn, limits)
    case let status: throw error(for: status)
    }
    return turn
  }

  /// Adds an operation, or, when there is no room, has a task made that waits for its turn until
  /// there is.
  func addWhenRoom(_ add: () -> Status, makeTask: (Turn) -> Task<Void, Never>) async throws {
    try Task.checkCancellation()
    switch isRoomAwaited ? .full : add() {
    case .ok: return
    case .full: break
    case let status: throw error(for: status)
    }
    let turn = Turn(self, isObstinate: false)
    // Made here, for what it inherits; and before the turn can come, which waits for nobody then.
    turn.adopt(makeTask(turn))
    do {
      try await enqueueWhenRoom(turn)
    } catch {
      turn.giveUp(error)
      throw error
    }
  }

  /// Whether errors of any kind can be thrown as this type.
  static func canThrow<Failure: Error>(_: Failure.Type) -> Bool {
    CancellationError() is Failure
  }

  /// Runs a body in the calling task when its turn has come.
  @usableFromInline
  func runInTurn<Value, Failure: Error>(
    isolation: isolated (any Actor)?, limits: OperationLimits?, _ file: StaticString, _ line: UInt,
    _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let turn: Turn
    do {
      // The check that a visit makes, too.
      if Self.canThrow(Failure.self) { try Task.checkCancellation() }
      let entry = try TaskWaits.enter(.turn(self))
      defer { TaskWaits.leave(entry) }
      turn = try await turnForCaller(isObstinate: !Self.canThrow(Failure.self), limits: limits)
      while !turn.decide() { await turn.wait() }
      if let refusal = turn.decidedRefusal {
        turn.release()
        throw refusal
      }
    } catch {
      if let error = error as? Failure { throw error }
      stop(error, file, line)
    }
    turn.beginWhereItIs()
    switch await turn.bind(isolation: isolation, body) {
    case .success(let value):
      let isTooLate = turn.finish(.finished)
      if isTooLate, let error = QueueError.ranTooLong as? Failure { throw error }
      return value
    case .failure(let error):
      _ = turn.finish(Outcome(of: error))
      throw error
    }
  }
}

extension Turn {
  /// Runs the body of an operation that has a task of its own, and that may throw.
  @inlinable
  nonisolated(nonsending) func perform<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    while !decide() { await wait() }
    if let refusal = decidedRefusal {
      release()
      throw refusal
    }
    begin()
    do {
      try Task.checkCancellation()
      let value = try await bind(isolation: #isolation, body).get()
      if !finish() { return value }
    } catch {
      finish(throwing: error)
      throw error
    }
    throw QueueError.ranTooLong
  }

  /// The same on an actor.
  @inlinable
  func perform<ActorType: Actor, Value: Sendable>(
    on actor: isolated ActorType, _ body: (isolated ActorType) async throws -> Value
  ) async throws -> Value {
    try await perform { try await body(actor) }
  }
}

extension OwnedFrame {
  /// The same for a body that does not throw, and that runs even when it is cancelled.
  @inlinable
  @inline(__always)
  nonisolated(nonsending) func performInAnyCase<Value>(
    _ body: nonisolated(nonsending) () async -> Value
  ) async -> Value {
    while !decide() { await waitForOffer() }
    begin()
    let value = await bind(isolation: #isolation, body).get()
    finish()
    return value
  }

  /// The same on an actor.
  @inlinable
  @inline(__always)
  func performInAnyCase<ActorType: Actor, Value: Sendable>(
    on actor: isolated ActorType, _ body: (isolated ActorType) async -> Value
  ) async -> Value {
    while !decide() { await waitForOffer() }
    begin()
    let value = await bind(isolation: actor) { await body(actor) }.get()
    finish()
    return value
  }
}

extension Outcome {
  /// How an operation ends whose body throws.
  init(of error: any Error) { self = error is CancellationError ? .cancelled : .failed }
}
