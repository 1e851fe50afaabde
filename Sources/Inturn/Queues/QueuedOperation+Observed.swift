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
    observed(\.state) {
      ObservedState(of: $0, .state, otherwise: .ended) { state in
        guard case .integer(let number) = state else { return nil }
        let state = InturnCore.OperationState(rawValue: Int32(truncatingIfNeeded: number))
        return state.map { OperationState($0) }
      }
    }
  }

  /// The work's progress, to be observed in the same way, with no change left out; or read as a
  /// sequence, as with `observedProgress.values(buffering: .bufferingNewest(1))`, which ends with
  /// the operation.
  public final var observedProgress: ObservedState<OperationProgress> {
    observed(\.progress) {
      ObservedState(of: $0, .progress, otherwise: OperationProgress()) { state in
        guard case .progress(let progress) = state else { return nil }
        return OperationProgress(progress)
      }
    }
  }
}

extension ObservedState {
  /// What the engine tells of one of its operations; `other` when it does not know the operation.
  fileprivate convenience init(
    of operation: Handle, _ aspect: OperationAspect, otherwise other: T,
    _ convert: @escaping @Sendable (RawValue) -> T?
  ) {
    self.init(other, aspect: aspect.rawValue) {
      convert($0) ?? other
    } follow: {
      Engine.follow($0, operation: operation)
    }
  }
}
