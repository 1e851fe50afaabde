extension AsyncOperation {
  /// Calls a handler once when the operation is cancelled.
  ///
  /// It is called on the cancelling thread, without a lock; if the operation was cancelled already,
  /// at once on this thread. Once the operation has an end, the handler is no longer called and is
  /// released; one that another thread is about to call may still be called. An end that the
  /// cancelling brings about, at the start or after ``cancelGrace``, does not count here. There may
  /// be several; they are called in the order in which they were set.
  public final func onCancel(_ handler: @escaping @Sendable () -> Void) {
    if !storage.keep(cancelHandler: handler) { handler() }
  }

  /// How long the operation may go on after it is cancelled while running; nil, the default, for as
  /// long as its work takes.
  ///
  /// After this time it ends as cancelled, its place in the queue is free and its dependents may
  /// start, although its work may still go on: `isCancelled` and `isFinished` are then both true,
  /// and the work's own end comes too late. The time starts with the call of `cancel()`; a change
  /// after that has no effect. Cancelling an operation before its start needs no time.
  public final var cancelGrace: Duration? {
    get { storage.cancelGrace?.duration }
    set {
      storage.cancelGrace = newValue.map { Grace(duration: $0, queue: GraceTimer.systemQueue) }
    }
  }
}
