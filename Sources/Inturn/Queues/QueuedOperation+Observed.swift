import InturnCore

extension QueuedOperation {
  /// The observable states of an operation.
  struct Observed {
    var state: ObservedState<OperationState>?
    var progress: ObservedState<OperationProgress>?
  }

  /// The operation's state, to be observed. While an operation waits for another attempt, or has
  /// given way, it is pending again, until it has ended for good.
  ///
  /// It may outlive the operation, and then keeps the last state.
  public final var observedState: ObservedState<OperationState> {
    observed(\.state) { ObservedState(of: $0, otherwise: .ended) { OperationState($0) } }
  }

  /// The work's progress, to be observed in the same way, with no change left out; or read as a
  /// sequence, as with `observedProgress.values(buffering: .bufferingNewest(1))`, which ends with
  /// the operation.
  public final var observedProgress: ObservedState<OperationProgress> {
    observed(\.progress) {
      ObservedState(progressOf: $0, otherwise: OperationProgress()) { OperationProgress($0) }
    }
  }
}
