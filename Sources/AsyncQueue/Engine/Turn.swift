import Inturn

/// The place of an operation that can be cancelled individually, or that has a label or options:
/// one of the engine's slots. Its body runs in its own task, or in its caller's.
@usableFromInline
final class Turn: Place, @unchecked Sendable {
  // Safe to share: see the superclass; `label`, `hasOptions`, `retry`, `makeTask`, `isOwnerFull` and
  // `isAcceptanceTold` are written before the turn is enqueued.

  /// Of its task, or of its options, with the line.
  private(set) nonisolated(unsafe) var label: String?
  /// What the caller was given, if that is more than a task.
  private let operation: QueuedOperation?
  /// Whether its body runs even when it is cancelled, because its form cannot throw.
  let isObstinate: Bool
  /// Whether it has options, and so may be cut off while it runs.
  private nonisolated(unsafe) var hasOptions = false
  private nonisolated(unsafe) var retry: Retry?
  /// Whether it is refused as full because its owner is, for which it does not wait. Written by whoever
  /// tries to enqueue it, one after the other.
  private(set) nonisolated(unsafe) var isOwnerFull = false
  /// Creates the task of a further attempt, if there may be one. Protected by `lock` once the
  /// operation is ending.
  nonisolated(unsafe) var makeTask: ((Turn) -> Task<Void, Never>)?

  // `lock` protects everything below.
  /// Cancels it individually, if that is possible. The turn releases it when it is over.
  @exclusivity(unchecked) private var handle: Handle?
  @exclusivity(unchecked) private var isReleased = false
  /// Why the turn was refused.
  @exclusivity(unchecked) private var refusal: (any Error)?
  /// The failure of the last attempt, for the function that decides whether to try again.
  @exclusivity(unchecked) private var failure: (any Error)?
  /// Whether the end has been told, or need not be.
  @exclusivity(unchecked) private var isEndTold = false
  /// Whether the acceptance has been told, or need not be.
  @exclusivity(unchecked) private var isAcceptanceTold = true
  /// Of how many attempts the start has been told.
  @exclusivity(unchecked) private var startsTold: UInt32 = 0

  init(
    _ core: QueueCore, label: String? = nil, isObstinate: Bool,
    for operation: QueuedOperation? = nil, priority: TaskPriority? = nil,
    registry: TaskRegistry? = nil, site: Site = .unknown
  ) {
    self.label = label
    self.isObstinate = isObstinate
    self.operation = operation
    super.init(core, priority: priority, registry: registry, site: site)
  }

  override var isCancellable: Bool { !isObstinate }
  override var hasProgress: Bool { true }

  /// By which it can be cancelled individually; nil if it cannot, or is over.
  var ownHandle: Handle? { lock.withLock { handle } }

  // MARK: In the queue

  /// Enqueues the turn, or returns why the queue refuses it.
  func enqueue(_ options: OperationOptions?) -> Status {
    hasOptions = options != nil
    if let options { label = options.label(at: site) }
    retry = options?.retry
    isAcceptanceTold = !core.tellsEvents
    guard let after = options.map({ QueuedOperation.handles(for: $0) }) ?? [] else {
      end(.cancelled(.dependency), nil)
      return .ok
    }
    let context = Unmanaged.passRetained(self)
    let (status, handle) = withOptions(options) { options in
      after.withUnsafeBufferPointer {
        var options = options
        options?.after = $0
        return Engine.enqueue(
          core.queue, at: site, options: options, context: context.toOpaque(),
          destroy: { Unmanaged<Turn>.fromOpaque($0!).takeRetainedValue().dropped() },
          isObstinate: isObstinate, wantsHandle: !isObstinate)
      }
    }
    isOwnerFull = status == .full && handle.bits != 0
    if status != .ok {
      context.release()
      // The end callback's reference.
      if options != nil { context.release() }
      return status
    }
    let hasJoined = core.tellsEvents && options?.joins == true && Engine.hasJoined(handle)
    if !isObstinate { keep(handle) }
    tellAccepted(hasJoined: hasJoined)
    return .ok
  }

  /// If its task was created before, it may be over already.
  private func keep(_ handle: Handle) {
    if let operation { return operation.isAccepted(as: handle) }
    lock.lock()
    let isReleased = self.isReleased
    if !isReleased { self.handle = handle }
    lock.unlock()
    if isReleased { _ = Engine.release(handle) }
  }

  /// Tells once that the queue has accepted it, before anything else is told of it. By the time
  /// that its enqueue returns, it may have begun, or have ended with an operation that it has
  /// joined.
  private func tellAccepted(hasJoined: Bool = false) {
    tell {
      if isAcceptanceTold { return nil }
      isAcceptanceTold = true
      let info = OperationInfo(state: .pending, label: label)
      return hasJoined ? .joined(info) : .enqueued(info)
    }
  }

  /// Tells once that this many attempts have begun, before anything else is told of the last one: a
  /// deadline may end it before its task gets to tell.
  private func tellStarted(attempts: UInt32) {
    tell {
      if startsTold >= attempts { return nil }
      startsTold = attempts
      return .started(OperationInfo(state: .running, label: label))
    }
  }

  /// It was refused, and its task has to find out.
  func giveUp(_ error: any Error) {
    lock.withLock { refusal = error }
    _ = refuse()
  }

  private func withOptions<Result>(
    _ options: OperationOptions?, _ body: (InturnCore.OperationOptions?) -> Result
  ) -> Result {
    if options == nil && label == nil { return body(nil) }
    return (options ?? OperationOptions()).withEngineOptions(label: label) { core in
      core.retry = retry?.enginePolicy
      core.retry?.decide = Self.askWhetherWorthIt
      if options != nil {
        core.endCallback = EndCallback(
          function: {},
          call: { _, turn, end in
            Unmanaged<Turn>.fromOpaque(turn!)._withUnsafeGuaranteedRef {
              if end.cause == .joined {
                $0.tellAccepted(hasJoined: true)
              } else {
                $0.tellStarted(attempts: end.attempts)
              }
              let (end, box) = OutcomeBox.open(end)
              $0.end(end, box)
            }
          },
          context: Unmanaged.passRetained(self).toOpaque(),
          destroy: { Unmanaged<Turn>.fromOpaque($0!).release() })
      }
      return body(core)
    }
  }

  override func claim() -> Bool {
    let reference = Unmanaged.passUnretained(self)
    guard let claim = Engine.claim(UInt(bitPattern: reference.toOpaque()), of: core.queue)
    else { return false }
    // The queue's reference. Between two attempts there is none: the next task keeps the turn.
    if attempt == 0 { reference.release() }
    isClaimed(claim.token)
    if let next = claim.offered { core.offer(next) }
    return true
  }

  /// The operation has ended before its start, by a cancel.
  private func dropped() {
    refuse(.cancelled)
    core.progressed()
  }

  /// Called by the end callback: how an operation with options has ended.
  private func end(_ end: OperationEnd, _ box: OutcomeBox?) {
    lock.lock()
    let makeTask = self.makeTask
    self.makeTask = nil
    lock.unlock()
    withExtendedLifetime(makeTask) {}
    refuse(end)
    tellEnd(end)
    operation?.hasEnded(end, box)
  }

  /// Does nothing once it has started.
  private func refuse(_ end: OperationEnd) {
    let error: any Error = end == .cancelled ? CancellationError() : QueueError.ended(end)
    lock.withLock { if stage == .pending { refusal = error } }
    if !refuse() { return }
    tellAccepted()
    tellEnd(end)
  }

  /// Tells once that it has ended.
  private func tellEnd(_ end: OperationEnd) {
    tell {
      if isEndTold { return nil }
      isEndTold = true
      return .ended(OperationInfo(state: .ended, label: label), end)
    }
  }

  /// Tells an event, unless it has been told: `event` decides that under the lock, which is released
  /// before a reader gets it.
  private func tell(_ event: () -> QueueEvent?) {
    if !core.tellsEvents { return }
    lock.lock()
    let event = event()
    if let event { core.stage(event) }
    lock.unlock()
    if event != nil { core.broadcast.deliver() }
  }

  /// Whether there will be another attempt.
  private static let askWhetherWorthIt: RetryPolicy.RawDecide = { turn, code, attempts in
    Unmanaged<Turn>.fromOpaque(turn!)._withUnsafeGuaranteedRef {
      $0.isWorthAnother(isTooLate: code == Status.timedOut.rawValue, attempts)
    }
  }

  private func isWorthAnother(isTooLate: Bool, _ attempts: UInt32) -> Bool {
    let failure = lock.withLock { self.failure }
    let end = isTooLate ? OperationEnd.timedOut(.maxRun) : failure.map { .failed($0) }
    let error = isTooLate ? QueueError.ended(.timedOut(.maxRun)) : failure
    guard let end, let error else { return true }
    tellStarted(attempts: attempts)
    if retry?.decide?(error, Int(attempts)) == false {
      tellEnd(end)
      return false
    }
    core.emit(.retrying(OperationInfo(state: .pending, label: label)))
    return true
  }

  /// Takes a pending operation out of the queue at once; leaves a running one alone.
  func cancelPending() {
    let handle = lock.withLock { self.handle }
    if let operation { return operation.cancel() }
    guard let handle, Engine.state(of: handle).1 == .pending else { return }
    _ = Engine.cancel(handle)
    // It may have started meanwhile; the body's task is cancelled then.
    if Engine.state(of: handle).1 == .ended { refuse(.cancelled) }
  }

  // MARK: The body's side

  /// Waits until the turn is offered or refused. If the task is cancelled, the turn leaves the
  /// queue, unless it is obstinate.
  @usableFromInline
  nonisolated(nonsending) func wait() async {
    if isObstinate { return await waitForOffer() }
    let isolation = #isolation
    await withTaskCancellationHandler {
      _ = isolation
      await waitForOffer()
    } onCancel: {
      cancelPending()
    }
  }

  /// Why it will never run, once that is decided.
  @usableFromInline
  var decidedRefusal: (any Error)? {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    return stage == .refused ? refusal : nil
  }

  /// The body begins, in its own task.
  @usableFromInline override func begin() { begin(isOwn: true) }

  /// The same, perhaps in the caller's task.
  func begin(isOwn: Bool) {
    tellAccepted()
    tellStarted(attempts: attempt + 1)
    core.progressed()
    // From now on, a cancel-all finds the operation itself.
    if isOwn && Engine.isCancelled(token).1 { askCurrentTaskToEnd() }
    if hasOptions { hearOfCutOff(token) }
  }

  /// Cancels the body's task when a deadline ends the operation.
  private func hearOfCutOff(_ token: Handle) {
    let context = Unmanaged.passRetained(self)
    let status = Engine.setHandler(
      of: .cancel, token,
      { turn, token in
        let turn = Unmanaged<Turn>.fromOpaque(turn!).takeUnretainedValue()
        // Cancelling a task calls its handlers, which must not happen on the clock's thread.
        Task.detached { turn.askToEnd(Handle(bits: token)) }
      }, context: context.toOpaque(),
      destroy: { Unmanaged<Turn>.fromOpaque($0!).release() })
    if status != .ok {
      context.release()
      askToEnd()
    }
  }

  /// The body has ended. Returns whether it took too long. Operations that have joined this one end
  /// with the same box.
  @discardableResult
  func finish(
    _ outcome: Outcome, cause: Cause = .none, error: (any Error)? = nil, box: OutcomeBox? = nil
  ) -> Bool {
    let context = box?.asContext
    let mayGoOn =
      outcome == .failed && retry?.enginePolicy.allows(attemptsSoFar: attempt + 1) == true
    if mayGoOn {
      lock.withLock { failure = error }
    }
    let status: Status
    if core.tellsEvents || context != nil || cause != .none {
      status = Engine.end(
        token, as: outcome, cause: cause, result: context,
        destroy: context == nil ? nil : OutcomeBox.drop
      ) {
        // Before the next operation starts, which sends an event, too. The end callback tells the
        // rest: what another attempt may follow, and what was cut off.
        if $0 == .ok && !mayGoOn { tellEnd(OperationEnd(outcome, cause, error: error)) }
      }
    } else {
      status = Engine.end(token, as: outcome)
    }
    if status != .ok, let context { OutcomeBox.drop(context) }
    // The next attempt or the end is still to come; a new task waits for either.
    if retry != nil && (mayGoOn || status != .ok),
      let (makeTask, attempt) = goesOn(by: { makeTask })
    {
      adopt(makeTask(self), attempt: attempt)
    } else {
      release()
    }
    core.progressed()
    return status != .ok
  }

  @usableFromInline @discardableResult override func finish() -> Bool { finish(.finished) }

  /// The body has thrown.
  @usableFromInline
  func finish(throwing error: any Error) {
    finish(Outcome(of: error), throwing: error)
  }

  func finish(_ outcome: Outcome, throwing error: any Error) {
    // Without options, nobody is told more than the engine knows.
    let isTold = hasOptions && outcome == .failed
    finish(
      outcome, error: outcome == .failed ? error : nil, box: isTold ? ErrorBox(error) : nil)
  }

  /// Releases everything about the operation, which is over or was refused.
  @usableFromInline
  func release() {
    letGo()
    lock.lock()
    isReleased = true
    let handle = self.handle
    self.handle = nil
    lock.unlock()
    if let handle { _ = Engine.release(handle) }
  }
}
