extension AsyncOperation {
  /// How an operation ended.
  public enum End: Sendable {
    /// Its work said that it was done.
    case finished
    /// Its work said why it could not be done; or its dependencies formed a ring,
    /// `DependencyCycle`.
    case failed(any Error)
    /// It was cancelled before its start, gave in, or its grace time was over.
    case cancelled
    /// Its last `FinishToken`, or finish callback, went away uncalled.
    case abandoned
  }

  /// Where an operation is.
  public enum State: Sendable {
    /// Next is *running*, or *ended* when it never runs.
    case pending
    /// Next is *ended*.
    case running
    /// The last one.
    case ended(End)

    package var isPending: Bool {
      if case .pending = self { return true }
      return false
    }

    /// Whether it is the last one.
    public var isEnded: Bool {
      if case .ended = self { return true }
      return false
    }
  }

  /// Where the operation is.
  ///
  /// It agrees with `isExecuting` and `isFinished`.
  public final var state: State { storage.state }

  /// How the operation ended; nil as long as it has not.
  public final var end: End? {
    if case .ended(let end) = storage.state { return end }
    return nil
  }
}
