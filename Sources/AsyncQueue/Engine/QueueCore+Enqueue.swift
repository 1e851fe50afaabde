import Inturn

/// Adding operations, in all their forms.
extension QueueCore {
  /// The priority of a plain operation; nil when the operation needs a task: the caller has
  /// task-local values or an unusual priority, or somebody reads the events.
  @inline(__always)
  func plainPriority(_ own: TaskPriority?) -> PlainPriority? {
    if interests.load(ordering: .relaxed) & Interest.events != 0 { return nil }
    // As numbers, because an optional priority involves calls into the standard library.
    let own = own?.rawValue
    return withUnsafeCurrentTask { task in
      guard let task else {
        return RuntimeLocals.areBound(in: .none) ? nil : PlainPriority(own ?? 0)
      }
      if RuntimeLocals.areBound(in: TaskAddress(of: task)) { return nil }
      return PlainPriority(own ?? task.priority.rawValue)
    }
  }

  /// Enqueues an operation whose closure gets its own task. `makeTask` creates one for each
  /// attempt.
  func enqueueTurn(
    _ options: OperationOptions? = nil, at site: Site,
    makeTask: @escaping (Turn) -> Task<Void, Never>
  ) -> Status {
    enqueue(Turn(self, isObstinate: false, site: site), options, makeTask)
  }

  func enqueue(
    _ turn: Turn, _ options: OperationOptions?, _ makeTask: @escaping (Turn) -> Task<Void, Never>
  ) -> Status {
    if options?.retry != nil { turn.makeTask = makeTask }
    let status = turn.enqueue(options)
    if status == .ok { turn.adopt(makeTask(turn)) }
    return status
  }

  /// The turn of a task that is about to be created and may throw, or that `isObstinate`: that runs
  /// in any case. If the queue refuses it, the task finds out.
  @usableFromInline
  func turn(
    _ label: String?, _ priority: TaskPriority?, isObstinate: Bool = false,
    in registry: TaskRegistry?, from fileID: StaticString, _ line: UInt
  ) -> Turn {
    let turn = Turn(
      self, label: label, isObstinate: isObstinate, priority: priority, registry: registry,
      site: Site(fileID, line))
    let status = turn.enqueue(nil)
    if status != .ok {
      let error = QueueError(status)
      if isObstinate { turn.isRefused(error) } else { turn.giveUp(error) }
    }
    return turn
  }

  /// The place of a task on an actor that cannot throw.
  @usableFromInline
  func placeOnActor(
    _ label: String?, _ priority: TaskPriority?, in registry: TaskRegistry?,
    from fileID: StaticString, _ line: UInt
  ) -> Place {
    // On the lane, a ticket counts as ended when its body begins, which observed states would show.
    let isObserved = interests.load(ordering: .relaxed) & Interest.states != 0
    if isObserved || !isPlain(label) {
      return turn(label, priority, isObstinate: true, in: registry, from: fileID, line)
    }
    let ticket = Ticket(
      self, priority: priority, registry: registry, site: Site(fileID, line))
    ticket.enqueue()
    return ticket
  }

  /// Holds a task of a FIFO queue that cannot throw until its turn; nil when the task needs a turn
  /// of its own.
  @usableFromInline
  func holder(
    _ label: String?, _ priority: TaskPriority?, in registry: TaskRegistry?,
    from fileID: StaticString, _ line: UInt
  ) -> HeldTask? {
    if !isPlain(label) { return nil }
    return HeldTask(self, priority: priority, registry: registry, site: Site(fileID, line))
  }

  /// Whether nobody is told of the operation.
  private func isPlain(_ label: String?) -> Bool {
    label == nil && interests.load(ordering: .relaxed) & Interest.events == 0
  }

  /// A turn for the calling task; waits for room if there is none. Throws the reason for a refusal.
  func turnForCaller(
    isObstinate: Bool, options: OperationOptions? = nil, site: Site,
    isolation: isolated (any Actor)? = #isolation
  ) async throws -> Turn {
    let turn = Turn(self, isObstinate: isObstinate, site: site)
    switch isRoomAwaited ? .full : turn.enqueue(options) {
    case .ok: break
    case .full where !turn.isOwnerFull:
      try await enqueueWhenRoom(turn, options)
      // It may be offered by now, so nobody is waiting any more who would notice the cancellation.
      if !isObstinate && Task.isCancelled { turn.cancelPending() }
    case let status: throw QueueError(status)
    }
    return turn
  }

  /// Adds an operation. When there is no room, creates a task that waits for its turn meanwhile.
  nonisolated(nonsending) func addWhenRoom(
    at site: Site, _ add: () -> Status, makeTask: (Turn) -> Task<Void, Never>
  ) async throws {
    try Task.checkCancellation()
    switch isRoomAwaited ? .full : add() {
    case .ok: return
    case .full: break
    case let status: throw QueueError(status)
    }
    let turn = Turn(self, isObstinate: false, site: site)
    // Created here because of what it inherits, and before its turn can come, which would not wait
    // for it.
    turn.adopt(makeTask(turn))
    do {
      let entry = try Frame.enter(at: site) { self.needsForTurn }
      defer { WaitGraph.leave(entry) }
      try await enqueueWhenRoom(turn)
    } catch {
      turn.giveUp(error)
      throw error
    }
  }

  /// Whether any error can be thrown as this type.
  static func canThrow<Failure: Error>(_: Failure.Type) -> Bool {
    CancellationError() is Failure
  }

  /// Runs a body in the calling task when its turn comes.
  @usableFromInline
  func runInTurn<Value, Failure: Error>(
    isolation: isolated (any Actor)?, options: OperationOptions?, _ fileID: StaticString,
    _ line: UInt,
    _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    callers.wrappingAdd(1, ordering: .relaxed)
    defer { callers.wrappingSubtract(1, ordering: .relaxed) }
    let site = Site(fileID, line)
    let canThrow = Self.canThrow(Failure.self)
    let turn: Turn
    do {
      // As for a visit.
      if canThrow { try Task.checkCancellation() }
      var entry = try Frame.enter(at: site) { self.needsForTurn }
      defer { WaitGraph.leave(entry) }
      turn = try await turnForCaller(isObstinate: !canThrow, options: options, site: site)
      var deadlock: QueueError?
      if !turn.decide() {
        // What comes before it, or its own options, may need what the caller holds. The first wait
        // is known until this one is: whoever closes a ring in between must see one of them.
        do throws(QueueError) {
          let first = entry
          entry = try Frame.enter(at: site) { turn.needsForEnd }
          WaitGraph.leave(first)
        } catch {
          deadlock = error
          turn.cancelPending()
        }
        repeat { await turn.wait() } while !turn.decide()
      }
      if let refusal = turn.decidedRefusal {
        turn.release()
        throw deadlock ?? refusal
      }
    } catch {
      if let error = error as? Failure { throw error }
      guard let refusal = error as? QueueError, !refusal.isDeadlock else {
        stop(error, fileID, line)
      }
      report(at: site, refusal)
      return try await runRefused(fileID, line, body)
    }
    turn.begin(isOwn: false)
    switch await Frame.bind(turn.framed, isolation: isolation, body) {
    case .success(let value):
      let isTooLate = turn.finish()
      if isTooLate, let error = QueueError.ended(.timedOut(.maxRun)) as? Failure { throw error }
      return value
    case .failure(let error):
      turn.finish(throwing: error)
      throw error
    }
  }

  /// Runs a body that was refused but whose form cannot throw: outside of the queue, once nothing
  /// of the queue is pending or running. A body without a value never runs. Stops the program where
  /// that wait could never end.
  private func runRefused<Value, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ fileID: StaticString, _ line: UInt,
    _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    if let nothing = () as? Value { return nothing }
    do throws(QueueError) {
      let entry = try Frame.enter(at: Site(fileID, line)) { [.quiet(self.queue)] }
      defer { WaitGraph.leave(entry) }
      await waitUntilQuietInAnyCase()
    } catch {
      stop(error, fileID, line)
    }
    return try await body()
  }
}

extension QueueError {
  fileprivate var isDeadlock: Bool {
    if case .deadlock = self { return true }
    return false
  }
}

extension Turn {
  /// Runs the body of an operation that may throw and has its own task.
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
      let value = try await Frame.bind(framed, isolation: #isolation, body).get()
      if !finish() { return value }
    } catch {
      finish(throwing: error)
      throw error
    }
    throw QueueError.ended(.timedOut(.maxRun))
  }

  /// The same on an actor.
  @inlinable
  func perform<ActorType: Actor, Value: Sendable>(
    on actor: isolated ActorType, _ body: (isolated ActorType) async throws -> Value
  ) async throws -> Value {
    try await perform { try await body(actor) }
  }
}

extension Place {
  /// The same for a body that does not throw and runs even when it is cancelled.
  @inlinable
  @inline(__always)
  nonisolated(nonsending) func performInAnyCase<Value>(
    _ body: nonisolated(nonsending) () async -> Value
  ) async -> Value {
    if isRefused { return await performRefused(body) }
    while !decide() { await waitForOffer() }
    begin()
    let value = await Frame.bind(framed, isolation: #isolation, body).get()
    finish()
    return value
  }

  /// The same on an actor.
  @inlinable
  @inline(__always)
  func performInAnyCase<ActorType: Actor, Value: Sendable>(
    on actor: isolated ActorType, _ body: (isolated ActorType) async -> Value
  ) async -> Value {
    await performInAnyCase { await body(actor) }
  }

  /// For an operation that its queue has refused: runs the body in a cancelled task, once nothing
  /// of the queue is pending or running. A body without a value never runs.
  @usableFromInline
  nonisolated(nonsending) func performRefused<Value>(
    _ body: nonisolated(nonsending) () async -> Value
  ) async -> Value {
    defer {
      _ = refuse()
      letGo()
    }
    if let nothing = () as? Value { return nothing }
    await core.waitUntilQuietInAnyCase()
    askCurrentTaskToEnd()
    return await body()
  }
}

extension Outcome {
  /// The outcome of an operation whose body throws.
  init(of error: any Error) { self = error is CancellationError ? .cancelled : .failed }
}
