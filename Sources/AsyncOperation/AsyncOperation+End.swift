import Inturn

extension AsyncOperation {
  /// The operation's state.
  ///
  /// It agrees with `isExecuting` and `isFinished`. When it is *ended*, ``end`` says how.
  public final var state: OperationState { storage.state }

  /// How the operation ended; nil while it has not.
  public final var end: OperationEnd? { storage.end }

  /// Waits until the operation has ended, without blocking a thread, and returns how.
  ///
  /// Cancelling the waiting task does not end the wait.
  ///
  /// **Deadlock.** An operation whose own work waits for it in this way never ends.
  public final func waitForEnd() async -> OperationEnd {
    await withCheckedContinuation { continuation in
      whenEnded { continuation.resume(returning: $0) }
    }
  }

  /// Calls a handler once, when the operation has ended; at once if it has already.
  package final func whenEnded(_ handler: @escaping @Sendable (OperationEnd) -> Void) {
    if !storage.keep(endHandler: handler), let end { handler(end) }
  }

  /// Sets what opens the gates behind the operation: called once when it has ended, before
  /// Foundation is told, which then looks for what is ready. Not called if the operation has ended
  /// already.
  package final func openGates(by opener: @escaping @Sendable (OperationEnd) -> Void) {
    storage.keep(gateOpener: opener)
  }
}

/// What its tokens call. An operation has one attempt.
extension AsyncOperation: FinishTarget {
  /// Creates a token for this operation's work.
  ///
  /// For a `main()` that passes its work on: when the last reference to the token goes away unused,
  /// the operation ends as abandoned rather than holding up its queue for ever.
  public final func makeFinishToken() -> FinishToken { FinishToken(of: self) }

  package final func finish(_ token: Handle, with box: OutcomeBox?) -> Bool {
    conclude(as: .finished, box: box)
  }

  package final func fail(_ token: Handle, _ error: any Error) -> Bool {
    conclude(as: .failed(error))
  }

  package final func giveIn(_ token: Handle) -> Bool { conclude(as: .cancelled) }

  package final func abandon(_ token: Handle) {
    _ = conclude(as: .abandoned, report: .lostToken(of: self))
  }

  package final func isAskedToEnd(_ token: Handle) -> Bool { isCancelled }

  package final func onCancel(_ token: FinishToken, _ handler: @escaping @Sendable () -> Void) {
    // While the operation has no end, its tokens are all alive, so no two have had this address.
    if !storage.keep(cancelHandler: handler, of: ObjectIdentifier(token)) { handler() }
  }

  // Foundation's queues have neither urgent operations nor progress.
  package final func onPreempt(_ token: Handle, _ handler: @escaping @Sendable () -> Void) {}
  package final func yield(_ token: Handle) -> Bool { false }

  package final func setProgress(_ progress: InturnCore.Progress, of token: Handle) -> Bool {
    false
  }
}
