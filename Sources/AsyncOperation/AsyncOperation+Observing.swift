extension AsyncOperation {
  /// Calls a handler with the operation's state, now and at each change.
  ///
  /// The first call is made before this returns, with the state at that time, unless another thread
  /// is changing it. Each later state is told once, in order, one call at a time, by the thread
  /// that changes it and without a lock; the last one is *ended*. It works wherever Foundation
  /// does: key-value observing, which does the same on Apple's systems, is not needed.
  ///
  /// - Returns: What ends the observing when it is cancelled or let go of. Keep it.
  public final func observeState(
    _ handler: @escaping @Sendable (State) -> Void
  ) -> StateObservation {
    let observer = StateObserver(handler)
    observer.offer(storage.add(observer))
    return StateObservation(observer, of: storage)
  }

  /// The operation's state, now and after each change, up to *ended*.
  ///
  /// No state is left out, however late it is read. Each call makes a sequence of its own.
  public final var states: AsyncStream<State> {
    AsyncStream { continuation in
      let observation = observeState { state in
        continuation.yield(state)
        if state.isEnded { continuation.finish() }
      }
      continuation.onTermination = { _ in observation.cancel() }
    }
  }

  /// Waits until the operation has ended, without blocking a thread, and says how.
  ///
  /// When the waiting task is cancelled, the waiting ends and the operation goes on.
  ///
  /// **Deadlock.** An operation whose own work waits so for it never ends.
  public final func waitForEnd() async throws(CancellationError) -> End {
    for await state in states {
      if case .ended(let end) = state { return end }
    }
    throw CancellationError()
  }

  /// Calls a handler once, when the operation has ended; at once where it has already.
  package final func whenEnded(_ handler: @escaping @Sendable (End) -> Void) {
    let observer = StateObserver { state in
      if case .ended(let end) = state { handler(end) }
    }
    observer.offer(storage.add(observer))
  }
}
