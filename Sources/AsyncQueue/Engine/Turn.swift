internal import InturnCore

/// One operation whose body runs in a task of its own, or in its caller's: its place in the queue,
/// and the word that the place has come. It is the frame of its body, too.
///
///     pending ──the queue starts it──▶ granted ──the body ends──▶ over
///        └──cancelled, too late──▶ refused
@usableFromInline
final class Turn: Frame, @unchecked Sendable {
  // Safe to share: `lock` protects all that changes, but for `operation`, which is written before
  // the task exists that reads it, and `hasLimits`, before the turn is enqueued.

  enum State {
    case pending
    case granted(token: Handle)
    case refused(any Error)
    case over
  }

  /// Keeps the core, of which a frame does not, beyond the operation's end, which is still told.
  private let keptCore: QueueCore
  let name: String?
  /// Whether its body runs even when it is cancelled, because its form cannot throw.
  @usableFromInline let isObstinate: Bool
  /// The priority of who enqueued it; that of its task is not lower.
  let priority: UInt8
  /// Who can cancel its task together with others', and knows it until the turn is over.
  private let registry: TaskRegistry?
  /// What cancels it one by one, where it can be. The turn releases it when it is over.
  private nonisolated(unsafe) var operation: Handle?
  /// Whether it may be cut off while it runs. Written before the turn is enqueued.
  private nonisolated(unsafe) var hasLimits = false

  /// Protects what follows. Nothing is called while it is held.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var state = State.pending
  @exclusivity(unchecked) private var waiter: UnsafeContinuation<Void, Never>?
  /// The lane's drainer, from the grant of an actor's operation until that begins.
  @exclusivity(unchecked) private var drainer: LaneDrainer?
  /// The task that runs the body, where it is the operation's own.
  @exclusivity(unchecked) private var task: (any OwnedTask)?
  @exclusivity(unchecked) private var isAskedToEnd = false

  init(
    _ core: QueueCore, name: String? = nil, isObstinate: Bool, priority: TaskPriority? = nil,
    registry: TaskRegistry? = nil
  ) {
    self.priority = priority?.rawValue ?? RuntimeTask.priority
    keptCore = core
    self.name = name
    self.isObstinate = isObstinate
    self.registry = registry
    super.init(core)
    registry?.add(self)
  }

  // MARK: In the queue

  /// Puts the turn into the queue, unless that refuses it.
  func enqueue(_ limits: OperationLimits?) -> Status {
    core.emit(.enqueued(name: name))
    hasLimits = limits != nil
    let context = Unmanaged.passRetained(self)
    let (status, handle) = withOptions(limits) {
      Engine.enqueue(
        core.queue, options: $0, context: context.toOpaque(),
        destroy: { Unmanaged<Turn>.fromOpaque($0!).takeRetainedValue().dropped() },
        isObstinate: isObstinate, wantsHandle: !isObstinate)
    }
    if status != .ok {
      context.release()
    } else if !isObstinate {
      operation = handle
    }
    return status
  }

  private func withOptions<Result>(
    _ limits: OperationLimits?, _ body: (OperationOptions?) -> Result
  ) -> Result {
    if limits == nil && name == nil { return body(nil) }
    var options = OperationOptions()
    if let limits {
      options.maxWait = limits.maxWait.nanoseconds
      options.maxRun = limits.maxRun.nanoseconds
      options.freesPlaceAtMaxRun = limits.placeAfterMaxRun == .freed
      options.stall = limits.stallWarning.nanoseconds
      options.endCallback = EndCallback(
        function: {},
        call: { _, turn, end in
          Unmanaged<Turn>.fromOpaque(turn!)._withUnsafeGuaranteedRef {
            $0.ended(end)
          }
        },
        context: Unmanaged.passRetained(self).toOpaque(),
        destroy: { Unmanaged<Turn>.fromOpaque($0!).release() })
    }
    guard let name else { return body(options) }
    return name.withCString {
      options.label = $0
      return body(options)
    }
  }

  /// The queue has started the operation, and gives it the reference that it had. An actor's
  /// operation keeps the drainer until it begins.
  func granted(_ token: Handle, keeping drainer: LaneDrainer?) {
    lock.lock()
    state = .granted(token: token)
    self.drainer = drainer
    let waiter = self.waiter
    self.waiter = nil
    lock.unlock()
    waiter?.resume()
  }

  /// The operation has ended before its start: it was cancelled.
  private func dropped() {
    refuse(CancellationError())
    core.progressed()
  }

  /// What an end callback is told: why an operation with limits was cut off.
  private func ended(_ end: OperationEnd) {
    guard end.outcome == .timedOut else { return }
    if end.cause == .maxWait { refuse(QueueError.waitedTooLong) }
  }

  private func refuse(_ error: any Error) {
    lock.lock()
    guard case .pending = state else {
      lock.unlock()
      return
    }
    state = .refused(error)
    let waiter = self.waiter
    self.waiter = nil
    lock.unlock()
    let isLate = error is QueueError
    core.emit(.ended(name: name, isLate ? .timedOut : .cancelled))
    waiter?.resume()
  }

  // MARK: Cancelling

  /// Takes a pending operation out of the queue at once; a running one is not touched.
  private func cancelPending() {
    guard let operation, Engine.state(of: operation).1 == .pending else { return }
    _ = Engine.cancel(operation)
    // It may have been started meanwhile; then it is the body's task that is cancelled.
    if Engine.state(of: operation).1 == .ended { refuse(CancellationError()) }
  }

  /// Cancels the body's task, where that is the operation's own.
  func askToEnd() {
    lock.lock()
    isAskedToEnd = true
    let task = self.task
    lock.unlockAfterReadingObject()
    task?.cancel()
  }

  /// The task that runs the body, told once it exists.
  @usableFromInline
  func adopt(_ task: any OwnedTask) {
    lock.lock()
    if case .over = state {
      lock.unlock()
      return
    }
    if case .refused = state {
      lock.unlock()
      return
    }
    self.task = task
    let isAskedToEnd = self.isAskedToEnd
    var isGranted = false
    if case .granted = state { isGranted = true }
    lock.unlock()
    if isAskedToEnd { task.cancel() }
    // Who began to wait before could not know the task.
    if isGranted { core.escalateIfUrgent(self) }
  }

  /// Raises the priority of what runs.
  func escalate(to priority: TaskPriority) {
    lock.lock()
    let task = self.task
    lock.unlockAfterReadingObject()
    task?.escalate(to: priority)
  }

  // MARK: The body's side

  /// Waits until the turn is granted or refused; says which. An obstinate one is not refused.
  @usableFromInline
  func wait(isolation: isolated (any Actor)? = #isolation) async -> (any Error)? {
    if isObstinate {
      await waitForDecision()
    } else {
      await withTaskCancellationHandler {
        // A closure is isolated as its function is only if it uses the parameter; else the task
        // would leave its actor here and come back in any order.
        await waitForDecision(isolation: isolation)
      } onCancel: {
        cancelPending()
      }
    }
    return decision?.error
  }

  /// Whether the turn has come, so that there is nothing to wait for.
  @usableFromInline
  var isGranted: Bool {
    lock.lock()
    defer { lock.unlock() }
    if case .granted = state { return true }
    return false
  }

  /// What has been decided: an error, or none. Nil when nothing has.
  private var decision: (error: (any Error)?, Void)? {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    switch state {
    case .pending: return nil
    case .refused(let error): return (error, ())
    case .granted, .over: return (nil, ())
    }
  }

  private func waitForDecision(isolation: isolated (any Actor)? = #isolation) async {
    core.waitBegins(TaskPriority(rawValue: RuntimeTask.priority))
    defer { core.waitEnds() }
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
      await waitForResume()
      return
    }
    await withTaskPriorityEscalationHandler {
      await waitForResume(isolation: isolation)
    } onPriorityEscalated: { _, priority in
      self.core.isAwaited(by: priority)
    }
  }

  private func waitForResume(isolation: isolated (any Actor)? = #isolation) async {
    await withUnsafeContinuation { continuation in
      lock.lock()
      guard case .pending = state else {
        lock.unlock()
        continuation.resume()
        return
      }
      waiter = continuation
      lock.unlock()
    }
  }

  /// The body begins: on an actor, the next operation may come to its door.
  @usableFromInline
  func begin() {
    lock.lock()
    guard case .granted(let token) = state else { fatalError("an operation begins out of turn") }
    let drainer = self.drainer
    self.drainer = nil
    lock.unlockAfterReadingObject()
    core.emit(.started(name: name))
    if let drainer, drainer.operationReturned() { core.drive(drainer) }
    // Later than that, who cancels all finds the operation himself.
    if Engine.isCancelled(token).1 { askCurrentTaskToEnd() }
    if hasLimits { hearOfCutOff(token) }
  }

  /// Has the body's task cancelled when a limit ends the operation.
  private func hearOfCutOff(_ token: Handle) {
    let context = Unmanaged.passRetained(self)
    let status = Engine.onCancel(
      token,
      handler: { turn, _ in
        Unmanaged<Turn>.fromOpaque(turn!)._withUnsafeGuaranteedRef { $0.askToEnd() }
      }, context: context.toOpaque(),
      destroy: { Unmanaged<Turn>.fromOpaque($0!).release() })
    if status != .ok {
      context.release()
      askToEnd()
    }
  }

  /// An obstinate operation that was cancelled while it was pending runs, and knows it.
  private func askCurrentTaskToEnd() {
    lock.lock()
    let isOwn = task != nil
    isAskedToEnd = true
    lock.unlock()
    if isOwn { withUnsafeCurrentTask { $0?.cancel() } }
  }

  /// The body has ended. Gives back whether it took too long.
  func finish(_ outcome: Outcome) -> Bool {
    lock.lock()
    guard case .granted(let token) = state else { fatalError("an operation ends out of turn") }
    state = .over
    let task = self.task
    self.task = nil
    lock.unlockAfterReadingObject()
    withExtendedLifetime(task) {}
    let status = Engine.end(token, as: outcome)
    forget()
    core.emit(.ended(name: name, status == .ok ? OperationOutcome(outcome) : .timedOut))
    core.progressed()
    return status != .ok
  }

  private func forget() {
    registry?.remove(self)
    if let operation {
      self.operation = nil
      _ = Engine.release(operation)
    }
  }

  /// The body has returned. Gives back whether it took too long.
  @usableFromInline
  func finish() -> Bool { finish(.finished) }

  /// The body has thrown.
  @usableFromInline
  func finish(throwing error: any Error) { _ = finish(Outcome(of: error)) }

  /// Lets go of what is known of a turn that was refused.
  @usableFromInline
  func release() {
    forget()
    lock.lock()
    let task = self.task
    self.task = nil
    lock.unlockAfterReadingObject()
    withExtendedLifetime(task) {}
  }
}

extension Duration? {
  fileprivate var nanoseconds: Int64 {
    // Zero means no limit to the engine, and a limit of nothing is the shortest that there is.
    map { Swift.max(1, $0.inNanoseconds) } ?? 0
  }
}

extension OperationOutcome {
  init(_ outcome: Outcome) {
    switch outcome {
    case .finished: self = .finished
    case .failed: self = .failed
    case .cancelled, .abandoned: self = .cancelled
    case .timedOut: self = .timedOut
    }
  }
}

/// A task of whatever result.
@usableFromInline
protocol OwnedTask: Sendable {
  func cancel()
  func escalate(to priority: TaskPriority)
}

extension Task: OwnedTask {
  @usableFromInline
  func escalate(to priority: TaskPriority) {
    if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
      escalatePriority(to: priority)
    }
  }
}
