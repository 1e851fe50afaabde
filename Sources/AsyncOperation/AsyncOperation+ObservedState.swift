import Inturn

extension AsyncOperation {
  /// The operation's state, to be observed on every system: inline or elsewhere, with the previous
  /// state, as a sequence, or by a wait. When it is *ended*, ``end`` says how.
  ///
  /// It may outlive the operation. It then keeps the last state, its sequences end, and its waits
  /// return nil.
  public final var observedState: ObservedState<OperationState> { storage.observedState }
}
