import Inturn

/// Operations for which the caller gets a handle: tasks of their own, with all options.
extension QueueCore {
  /// Enqueues one. `makeTask` creates its task, which runs `performTask`.
  func enqueueTask<Value: Sendable>(
    _ options: OperationOptions, _ fileID: StaticString, _ line: UInt,
    _: Value.Type, makeTask: @escaping (Turn) -> Task<Void, Never>
  ) -> QueuedResult<Value> {
    let site = Site(fileID, line)
    let operation = QueuedResult<Value>()
    let turn = Turn(self, isObstinate: false, for: operation, site: site)
    let status = enqueue(turn, options, makeTask)
    if status != .ok {
      let error = QueueError(status)
      report(refusalOf: turn.label, at: site, error)
      operation.hasEnded(OperationEnd(refusal: error), nil)
    }
    return operation
  }
}

extension Turn {
  /// Runs one attempt: the condition, then the body. Each attempt has its own task, because a
  /// cancelled task stays cancelled.
  nonisolated(nonsending) func performTask<Value: Sendable>(
    _ condition: (@Sendable () -> OperationEnd?)?,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async {
    while !decide() { await wait() }
    if decidedRefusal != nil { return release() }
    begin()
    if let end = condition?() {
      if end.skips {
        finish(.finished, cause: .skipped)
      } else {
        finish(.cancelled, cause: .condition)
      }
      return
    }
    do {
      try Task.checkCancellation()
      let value = try await Frame.bind(framed, isolation: #isolation, body).get()
      finish(.finished, box: ValueBox(value))
    } catch {
      let isCancelled = error is CancellationError && Task.isCancelled
      finish(isCancelled ? .cancelled : .failed, throwing: error)
    }
  }
}

extension Turn {
  /// The same on an actor.
  func performTask<ActorType: Actor, Value: Sendable>(
    _ condition: (@Sendable () -> OperationEnd?)?, on actor: isolated ActorType,
    _ body: (isolated ActorType) async throws -> Value
  ) async {
    await performTask(condition) { try await body(actor) }
  }
}
