import Inturn

/// Operations whose caller gets a handle: tasks of their own, with all options.
extension QueueCore {
  /// Enqueues one. `makeTask` makes its task, which runs `performTask`.
  func enqueueTask<Value: Sendable>(
    _ options: OperationOptions, _ fileID: StaticString, _ line: UInt,
    _: Value.Type, makeTask: (Turn) -> Task<Void, Never>
  ) -> QueuedResult<Value> {
    let origin = Origin(fileID, line)
    var options = options
    options.label = options.label.map { "\($0), \(origin)" } ?? "\(origin)"
    let operation = QueuedResult<Value>(waitingFor: options)
    let turn = Turn(
      self, label: options.label, isObstinate: false, for: operation, origin: origin)
    let status = turn.enqueue(options)
    if status == .ok {
      turn.adopt(makeTask(turn))
    } else {
      let error = QueueError(status)
      report(refusalOf: options.label, error)
      operation.hasEnded(OperationEnd(refusal: error), nil)
    }
    return operation
  }
}

/// What a task has to know of its operation's options: it keeps neither the owner nor what it comes
/// after.
struct Attempts: Sendable {
  let condition: (@Sendable () -> Verdict)?
  let retry: Retry?

  init(_ options: OperationOptions) {
    condition = options.condition
    retry = options.retry
  }
}

extension Turn {
  /// Runs the operation: its condition, its body, its further attempts.
  nonisolated(nonsending) func performTask<Value: Sendable>(
    _ attempts: Attempts, _ body: nonisolated(nonsending) () async throws -> Value
  ) async {
    while !decide() { await wait() }
    if decidedRefusal != nil { return release() }
    begin()
    var count: UInt32 = 0
    while true {
      count += 1
      switch attempts.condition?() ?? .start {
      case .start: break
      case .skip: return _ = finish(.finished, cause: .skipped)
      case .giveUp: return _ = finish(.cancelled, cause: .condition)
      }
      do {
        try Task.checkCancellation()
        let value = try await bind(isolation: #isolation, body).get()
        return _ = finish(.finished, box: ValueBox(value))
      } catch {
        if error is CancellationError && Task.isCancelled { return finish(throwing: error) }
        guard let delay = attempts.retry?.delay(after: error, count) else {
          return finish(.failed, throwing: error)
        }
        await core.pause(nanoseconds: delay)
        if Task.isCancelled { return finish(throwing: CancellationError()) }
      }
    }
  }
}

extension Turn {
  /// The same on an actor.
  func performTask<ActorType: Actor, Value: Sendable>(
    _ attempts: Attempts, on actor: isolated ActorType,
    _ body: (isolated ActorType) async throws -> Value
  ) async {
    await performTask(attempts) { try await body(actor) }
  }
}

extension QueueCore {
  /// Waits by the queue's clock; shorter when the task is cancelled.
  fileprivate nonisolated(nonsending) func pause(nanoseconds: Int64) async {
    let (stream, end) = AsyncStream<Void>.makeStream()
    let alarm = ClockAlarm(
      on: clock?.engineClock ?? Engine.systemClock, afterNanoseconds: nanoseconds
    ) { end.finish() }
    for await _ in stream {}
    alarm.cancel()
  }
}

extension Retry {
  /// The delay until the next attempt, in nanoseconds; nil when there is none.
  fileprivate func delay(after error: any Error, _ attempts: UInt32) -> Int64? {
    let policy = enginePolicy
    guard policy.allows(attemptsSoFar: attempts), decide?(error, Int(attempts)) ?? true else {
      return nil
    }
    return policy.delay(afterAttempts: attempts, chance: .random(in: 0..<1))
  }
}
