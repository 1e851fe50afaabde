import Inturn

/// An operation's decisions, as a value: who ends it, what is told next and by whom, and whether
/// its work is called. `OperationStorage` asks under its lock and acts on the answers afterwards.
///
/// Telling a change means calling Foundation and observers, which takes time and has to be in
/// order. So only one thread at a time does it, the *teller*. A thread that ends the operation
/// while another one is telling leaves the telling to it. Invariants, tested for every reachable
/// state:
///
/// - the states that are told are *pending*, *running*, *ended* in this order, and *running* only
///   if the operation was started and has not been ended before;
/// - nothing is told before the start, because a queue does not let an operation finish earlier;
/// - when there is something to tell, there is a teller, or the operation is not started yet;
/// - the first end is the only one.
struct OperationMachine: Hashable {
  /// The state that was told last.
  private(set) var state = OperationState.pending
  /// How the operation will end, once that is decided.
  private(set) var outcome: OperationEnd.Outcome?
  private(set) var isStarted = false
  private(set) var isCancelRequested = false
  private var hasTeller = false

  /// The result of an attempt to end the operation.
  enum EndAnswer: Equatable {
    /// It has an end already.
    case refused
    /// It will end in this way; the start, or the present teller, tells it.
    case accepted
    /// It ends in this way, and the caller is the teller.
    case tell
  }

  /// What a teller does next.
  enum Step: Equatable {
    case tellRunning
    case tellEnd(wasRunning: Bool)
    /// Nothing: it is no longer the teller. Says whether the operation is running and has no end
    /// yet.
    case leave(isRunning: Bool)
  }

  /// Starts the operation. When true, the caller is the teller. False when it was started before.
  mutating func start() -> Bool {
    if isStarted { return false }
    isStarted = true
    if outcome == nil && isCancelRequested { outcome = .cancelled }
    hasTeller = true
    return true
  }

  mutating func end(as outcome: OperationEnd.Outcome) -> EndAnswer {
    if self.outcome != nil { return .refused }
    self.outcome = outcome
    if !isStarted || hasTeller { return .accepted }
    hasTeller = true
    return .tell
  }

  /// Asks the operation to end. False when it has been asked before or has an end.
  mutating func cancel() -> Bool {
    if outcome != nil || isCancelRequested { return false }
    isCancelRequested = true
    return true
  }

  /// The teller's next step. In the middle of carrying it out, it calls `enter`.
  mutating func nextStep() -> Step {
    switch (state, outcome) {
    case (.pending, nil): return .tellRunning
    case (.pending, _?): return .tellEnd(wasRunning: false)
    case (.running, _?): return .tellEnd(wasRunning: true)
    case (.running, nil), (.ended, _):
      hasTeller = false
      return .leave(isRunning: outcome == nil)
    }
  }

  mutating func enter(_ state: OperationState) { self.state = state }
}
