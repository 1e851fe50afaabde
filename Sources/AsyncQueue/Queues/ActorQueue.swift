import Inturn

/// A queue whose operations begin on an actor, in the order in which they are enqueued.
///
/// An operation runs isolated to the queue's actor. The order holds until the operation first
/// suspends: then the next one may begin. Code between suspensions never overlaps, and an operation
/// may wait for others in its own queue. The order holds regardless of priorities and of what else
/// the actor does.
///
/// An actor queue needs its actor. Create it with ``init(of:label:capacity:clock:)`` or, as a
/// constant of the actor itself, adopt the actor in its `init`. The queue holds the actor weakly;
/// pending operations keep it alive. Without an actor, or once the actor is gone, throwing calls
/// throw `QueueError.noActor`. With other calls, an operation without a value never runs, which is
/// reported; where a value is needed, the program stops with a message that says what to do.
public final class ActorQueue<ActorType: Actor>: WorkQueue, OrderedQueue, Sendable {
  @usableFromInline let core: QueueCore
  private let pin: ActorPin<ActorType>

  /// Creates a queue without an actor; see ``adoptExecutionContext(of:)``.
  ///
  /// - Parameters:
  ///   - label: The queue's name in reports and messages.
  ///   - capacity: How many operations may be pending, at least one; nil for no limit.
  ///   - clock: The source of deadlines, delays and time-outs; nil for the system's clock.
  public init(label: String? = nil, capacity: Int? = nil, clock: ManualClock? = nil) {
    pin = ActorPin()
    core = QueueCore(.actor, label: label, capacity: capacity, clock: clock, pin: pin)
  }

  /// The same, with swift-async-queue's name for the label.
  public convenience init(name: String?) { self.init(label: name) }

  /// A queue for an actor that lives as long as the process.
  init(immortal actor: ActorType, label: String) {
    pin = ActorPin(immortal: actor)
    core = QueueCore(.actor, label: label, capacity: nil, clock: nil, pin: pin)
  }

  /// Creates a queue for an actor, which is held weakly; pending operations keep it alive. The other
  /// parameters are those of ``init(label:capacity:clock:)``.
  public convenience init(
    of actor: ActorType, label: String? = nil, capacity: Int? = nil, clock: ManualClock? = nil
  ) {
    self.init(label: label, capacity: capacity, clock: clock)
    adoptExecutionContext(of: actor)
  }

  deinit { core.release() }

  /// Sets the queue's actor, before anything is enqueued. A queue has one actor for its whole life:
  /// a second call stops the program.
  public func adoptExecutionContext(of actor: ActorType) {
    require(
      pin.adopt(actor),
      "An actor queue adopts one actor, once. Make another queue for another actor.")
  }

  /// The actor, while it lives.
  @usableFromInline var actor: ActorType? { pin.actor }

  @usableFromInline
  func actorOrStop(_ fileID: StaticString, _ line: UInt) -> ActorType {
    guard let actor else { core.stop(QueueError.noActor, fileID, line) }
    return actor
  }

  // MARK: From synchronous code

  /// Enqueues an operation, and returns at once.
  ///
  /// When the queue is closed, full, or has no actor any more, the operation never runs, which is
  /// reported. To find out, use ``tryEnqueue(_:fileID:line:)`` or
  /// ``enqueueWhenRoom(_:fileID:line:)``.
  @_disfavoredOverload
  public func enqueue(_ task: @escaping @Sendable (isolated ActorType) async -> Void) {
    enqueue(task, at: .unknown)
  }

  /// As ``enqueue(_:)``, which is what `queue.enqueue` alone stands for; reports name the line. The
  /// parameters are those of ``FIFOQueue/enqueue(_:fileID:line:call:)``.
  public func enqueue<Call>(
    _ task: @escaping @Sendable (isolated ActorType) async -> Void,
    fileID: StaticString = #fileID, line: UInt = #line, call: Call = ()
  ) {
    enqueue(task, at: Site(fileID, line))
  }

  private func enqueue(
    _ task: @escaping @Sendable (isolated ActorType) async -> Void, at site: Site
  ) {
    let status = core.add(on: pin, at: site, task)
    if status != .ok { core.report(at: site, status.map { QueueError($0) } ?? .noActor) }
  }

  /// Enqueues an operation, or throws `QueueError.full`, `QueueError.closed` or
  /// `QueueError.noActor` at once.
  public func tryEnqueue(
    _ task: @escaping @Sendable (isolated ActorType) async -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws(QueueError) {
    let status = core.add(on: pin, at: Site(fileID, line), task)
    if status != .ok { throw status.map { QueueError($0) } ?? .noActor }
  }

  /// The same with options.
  public func tryEnqueue(
    _ options: OperationOptions, fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async -> Void
  ) throws(QueueError) {
    guard let actor else { throw .noActor }
    let condition = options.condition
    let status = core.enqueueTurn(options, at: Site(fileID, line)) { turn in
      Task { await turn.performTask(condition, on: actor, task) }
    }
    if status != .ok { throw QueueError(status) }
  }

  /// Enqueues an operation with options and a value; it runs on the actor, in its own task. As
  /// ``FIFOQueue/enqueueTask(_:fileID:line:_:)``, but other operations begin between attempts.
  @discardableResult
  public func enqueueTask<Value: Sendable>(
    _ options: OperationOptions = OperationOptions(), fileID: StaticString = #fileID,
    line: UInt = #line, _ body: @escaping @Sendable (isolated ActorType) async throws -> Value
  ) -> QueuedResult<Value> {
    let actor = actorOrStop(fileID, line)
    let condition = options.condition
    return core.enqueueTask(options, fileID, line, Value.self) { turn in
      Task { await turn.performTask(condition, on: actor, body) }
    }
  }

  // MARK: From asynchronous code

  /// Waits until there is room, then enqueues an operation.
  ///
  /// - Throws: `QueueError.closed`, `QueueError.noActor`; `CancellationError` when the caller is
  ///   cancelled meanwhile.
  public nonisolated(nonsending) func enqueueWhenRoom(
    _ task: @escaping @Sendable (isolated ActorType) async -> Void,
    fileID: StaticString = #fileID, line: UInt = #line
  ) async throws {
    // Keeps the actor until the operation is enqueued.
    guard let actor else { throw QueueError.noActor }
    let site = Site(fileID, line)
    try await core.addWhenRoom(at: site) {
      core.add(on: pin, at: site, task)!
    } makeTask: { turn in
      Task { try? await turn.perform(on: actor, task) }
    }
  }

  /// Runs a body in the calling task, on the actor, beginning in its turn, and returns its value.
  ///
  /// The turn is taken on the actor, once the task has come there: operations that others enqueue
  /// meanwhile may begin before it. A `Task(on:)` takes its turn at once.
  ///
  /// - Throws: What the body throws. If its error type can hold them, also: `CancellationError`
  ///   when the task is cancelled before the body begins, which then never runs;
  ///   `QueueError.closed`; `QueueError.noActor`. If it cannot, the body runs in its turn even when
  ///   it is cancelled; a refusal by the queue is reported, and a body with a value then runs when
  ///   the queue has done its work. Without an actor, it stops the program.
  public nonisolated(nonsending) func run<Value: Sendable, Failure: Error>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @Sendable (isolated ActorType) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard let actor else {
      if let error = QueueError.noActor as? Failure { throw error }
      core.stop(QueueError.noActor, fileID, line)
    }
    return try await core.run(on: actor, fileID, line, body)
  }

  /// Enqueues an operation and waits for its value; it runs in the calling task, as with
  /// ``run(fileID:line:_:)``.
  public nonisolated(nonsending) func enqueueAndWait<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async -> T
  ) async -> T {
    await run(fileID: fileID, line: line, task)
  }

  /// Enqueues an operation and waits for its value or error.
  ///
  /// - Throws: as ``run(fileID:line:_:)`` with an error type of `any Error`.
  public nonisolated(nonsending) func enqueueAndWait<T: Sendable>(
    fileID: StaticString = #fileID, line: UInt = #line,
    _ task: @escaping @Sendable (isolated ActorType) async throws -> T
  ) async throws -> T {
    try await run(fileID: fileID, line: line, task)
  }
}
