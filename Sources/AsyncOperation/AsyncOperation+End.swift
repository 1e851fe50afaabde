import Inturn

extension AsyncOperation {
  /// Where the operation is.
  ///
  /// It agrees with `isExecuting` and `isFinished`. It is *ended* when ``end`` says how.
  public final var state: OperationState { storage.state }

  /// How the operation ended; nil as long as it has not.
  public final var end: OperationEnd? { storage.end }

  /// Waits until the operation has ended, without blocking a thread, and says how.
  ///
  /// The wait is not affected by the cancelling of the task that waits.
  ///
  /// **Deadlock.** An operation whose own work waits so for it never ends.
  public final func waitForEnd() async -> OperationEnd {
    await withCheckedContinuation { continuation in
      whenEnded { continuation.resume(returning: $0) }
    }
  }

  /// Calls a handler once, when the operation has ended; at once where it has already.
  package final func whenEnded(_ handler: @escaping @Sendable (OperationEnd) -> Void) {
    let storage = storage
    let observer = StateObserver { state in
      if state == .ended, let end = storage.end { handler(end) }
    }
    observer.offer(storage.add(observer))
  }
}

/// What its tokens do. An operation has one attempt.
extension AsyncOperation: FinishTarget {
  /// Makes a token for this operation's work.
  ///
  /// For a `main()` that hands its work to others: when the last reference to the token goes away
  /// unused, the operation ends as abandoned instead of holding its queue up for ever.
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

  package final func onCancel(_ token: Handle, _ handler: @escaping @Sendable () -> Void) {
    onCancel(handler)
  }

  // Foundation's queues know nothing urgent, and no progress.
  package final func onPreempt(_ token: Handle, _ handler: @escaping @Sendable () -> Void) {}
  package final func yield(_ token: Handle) -> Bool { false }

  package final func setProgress(_ progress: InturnCore.Progress, of token: Handle) -> Bool {
    false
  }
}
