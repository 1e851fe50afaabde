import Inturn

/// What an operation decides, as a value: who ends it, what is told next and by whom, and whether
/// its work is called. `OperationStorage` asks it under its lock and acts on the answers
/// afterwards.
///
/// Telling the world of a change means calling Foundation and observers, which takes time and must
/// be in order. So one thread at a time does it, the *teller*. Who ends the operation while another
/// thread is telling leaves the telling to that one. What is to be upheld, and tested for every
/// reachable state:
///
/// - the states that are told are *pending*, *running*, *ended* in this order, *running* only when
///   the operation has been started and has not been ended before;
/// - nothing is told before the start, because a queue does not let an operation finish earlier;
/// - when there is something to tell, there is a teller, or the operation is not started yet;
/// - the first end is the only one.
struct OperationMachine: Hashable {
  /// What has been told.
  private(set) var state = OperationState.pending
  /// How the operation ends, as soon as somebody has said so.
  private(set) var outcome: OperationEnd.Outcome?
  private(set) var isStarted = false
  private(set) var isCancelRequested = false
  private var hasTeller = false

  /// What became of an attempt to end the operation.
  enum EndAnswer: Equatable {
    /// It has an end already.
    case refused
    /// It ends so; the start, or the present teller, tells it.
    case accepted
    /// It ends so; the caller is the teller.
    case tell
  }

  /// What a teller does next.
  enum Step: Equatable {
    case tellRunning
    case tellEnd(wasRunning: Bool)
    /// Nothing: it is the teller no more. Whether the operation runs and has no end yet.
    case leave(isRunning: Bool)
  }

  /// The operation is started. True: the caller is the teller. False: it was started before.
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

  /// Somebody asks for the end. True: nobody has asked before, and there is no end yet.
  mutating func cancel() -> Bool {
    if outcome != nil || isCancelRequested { return false }
    isCancelRequested = true
    return true
  }

  /// What the teller does next. It carries a step out by calling `enter` in the middle of it.
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
