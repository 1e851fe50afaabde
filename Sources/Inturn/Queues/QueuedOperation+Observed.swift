import InturnCore

extension QueuedOperation {
  /// What is observed of an operation.
  struct Observed {
    var state: ObservedState<OperationState>?
    var progress: ObservedState<OperationProgress>?
  }

  /// The operation's state, to be observed. An operation that is tried again, or has given way, is
  /// pending again, until it has ended for good.
  ///
  /// It may outlive the operation, and keeps the last state then.
  public final var observedState: ObservedState<OperationState> {
    observed(\.state) { ObservedState(of: $0, otherwise: .ended) { OperationState($0) } }
  }

  /// How far the work has come, to be observed in the same way, each change, none left out; or read
  /// as a sequence, as with `observedProgress.values(buffering: .bufferingNewest(1))`, which ends with
  /// the operation.
  public final var observedProgress: ObservedState<OperationProgress> {
    observed(\.progress) {
      ObservedState(progressOf: $0, otherwise: OperationProgress()) { OperationProgress($0) }
    }
  }
}
