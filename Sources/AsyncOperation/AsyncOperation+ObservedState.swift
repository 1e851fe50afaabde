import ConcurrentKVO

extension AsyncOperation {
  /// The operation's state, to be observed with the calls of `ConcurrentKVO`: inline
  /// or elsewhere, with the state before, as a sequence, by a wait.
  ///
  /// It may outlive the operation, and keeps the last state then.
  public final var observedState: ObservedState<State> {
    if let made = storage.observedState { return made }
    let made = ObservedState(State.pending)
    let observer = StateObserver { state in
      switch state {
      case .pending: break
      case .running: made.tell(state)
      case .ended:
        made.tell(state)
        made.finish()
      }
    }
    let (kept, first) = storage.keep(made, observer)
    if let first { observer.offer(first) }
    return kept
  }
}
