import ConcurrentKVO
import InturnCore

extension ConcurrentOperation {
  /// What is observed of an operation.
  struct Observed {
    var state: ObservedState<State>?
    var progress: ObservedState<ConcurrentProgress>?
  }

  /// The operation's state, to be observed with the calls of `ConcurrentKVO`. An
  /// operation that is tried again is pending again, until it has ended for good.
  ///
  /// It may outlive the operation, and keeps the last state then.
  public final var observedState: ObservedState<State> {
    observed(\.state) { ObservedState(of: $0, otherwise: .ended) { State($0) } }
  }

  /// How far the work has come, to be observed in the same way: each change, none left out.
  public final var observedProgress: ObservedState<ConcurrentProgress> {
    observed(\.progress) {
      ObservedState(progressOf: $0, otherwise: ConcurrentProgress()) { ConcurrentProgress($0) }
    }
  }
}

extension ConcurrentOperation.State {
  init(_ state: OperationState) {
    switch state {
    case .pending: self = .pending
    case .running: self = .running
    case .ended: self = .ended
    }
  }
}

extension ConcurrentProgress {
  init(_ progress: Progress) {
    completed = progress.completed
    total = progress.total
  }
}
