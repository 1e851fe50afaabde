extension AsyncOperation {
  /// Calls a handler once when cancelling is asked for.
  ///
  /// It is called on the thread that cancels, without a lock; at once, on this thread, when that
  /// has been done already. It is not called any more when the operation has an end, and is let go
  /// of then. There may be several; they are called in the order in which they were set.
  public final func onCancel(_ handler: @escaping @Sendable () -> Void) {
    if !storage.keep(cancelHandler: handler) { handler() }
  }

  /// How long the operation may go on when it is cancelled while it runs; nil, the default, for as
  /// long as its work takes.
  ///
  /// When the time has passed it ends as cancelled, its place in the queue is free and its
  /// dependents may start, although its work may still go on: `isCancelled` and `isFinished` are
  /// both true then, and the work's own end comes too late. It counts from the call of `cancel()`;
  /// a change after that has no effect. Cancelling an operation before its start needs no time.
  public final var cancelGrace: Duration? {
    get { storage.cancelGrace?.duration }
    set {
      storage.cancelGrace = newValue.map { Grace(duration: $0, queue: GraceTimer.systemQueue) }
    }
  }
}
