import Inturn

/// What an operation keeps beside Foundation's part of it.
final class OperationStorage: @unchecked Sendable {
  // Safe to share: `lock` protects all that changes.

  /// Protects everything below that is a variable. Neither Foundation nor user code is called while
  /// it is held, and nothing is let go of that might call them.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var machine = OperationMachine()
  /// How it ends, once somebody has said so, and with what.
  @exclusivity(unchecked) private var saidEnd: OperationEnd?
  @exclusivity(unchecked) private var box: OutcomeBox?
  @exclusivity(unchecked) private var cancelHandlers: [@Sendable () -> Void] = []
  @exclusivity(unchecked) private var observers: [StateObserver] = []
  /// Made when it is first asked for.
  @exclusivity(unchecked) private var madeState: ObservedState<OperationState>?
  @exclusivity(unchecked) private var links = DependencyLinks()
  @exclusivity(unchecked) private var grace: Grace?
  @exclusivity(unchecked) private var graceTimer: GraceTimer?

  @exclusivity(unchecked) private var madeAt = Site.unknown

  // MARK: Looking

  var state: OperationState { lock.withLock { machine.state } }

  /// How it has ended; a start that finds it cancelled ends it, too.
  var end: OperationEnd? {
    lock.withLock { machine.state == .ended ? saidEnd ?? .cancelled : nil }
  }

  var isExecuting: Bool { lock.withLock { machine.state == .running } }
  var isFinished: Bool { lock.withLock { machine.state == .ended } }
  var isCancelRequested: Bool { lock.withLock { machine.isCancelRequested } }

  /// Where the operation was made, as far as that is known.
  var site: Site {
    get { lock.withLock { madeAt } }
    set { lock.withLock { madeAt = newValue } }
  }

  /// What the operation finished with, once it has ended.
  var endBox: OutcomeBox? { lock.withLock { machine.state == .ended ? box : nil } }

  // MARK: Events

  func start() -> Bool { lock.withLock { machine.start() } }

  func end(as end: OperationEnd, _ box: OutcomeBox?) -> OperationMachine.EndAnswer {
    lock.withLock {
      let answer = machine.end(as: end.outcome)
      if answer != .refused { (saidEnd, self.box) = (end, box) }
      return answer
    }
  }

  /// The handlers that are to be called, and the grace time that begins.
  func cancel() -> (handlers: [@Sendable () -> Void], grace: Grace?) {
    lock.withLock {
      guard machine.cancel() else { return ([], nil) }
      let handlers = cancelHandlers
      cancelHandlers = []
      return (handlers, machine.isStarted ? grace : nil)
    }
  }

  /// Keeps a handler for the time when cancelling is asked for. False: that has been done already,
  /// and the caller calls the handler.
  func keep(cancelHandler: @escaping @Sendable () -> Void) -> Bool {
    lock.withLock {
      if machine.isCancelRequested { return machine.outcome != nil }
      if machine.outcome == nil { cancelHandlers.append(cancelHandler) }
      return true
    }
  }

  func nextStep() -> OperationMachine.Step { lock.withLock { machine.nextStep() } }

  /// Enters a state, and says who is to be told of it.
  func enter(_ state: OperationState) -> (observers: [StateObserver], state: OperationState) {
    // Let go of after the lock.
    var handlers: [@Sendable () -> Void] = []
    var timer: GraceTimer?
    let told = lock.withLock {
      machine.enter(state)
      let told = (observers, machine.state)
      if state == .ended {
        observers = []
        swap(&handlers, &cancelHandlers)
        swap(&timer, &graceTimer)
      }
      return told
    }
    withExtendedLifetime((handlers, timer)) {}
    return told
  }

  // MARK: Observers

  /// Adds an observer, and says with which state it begins.
  func add(_ observer: StateObserver) -> OperationState {
    lock.withLock {
      if machine.state != .ended { observers.append(observer) }
      return machine.state
    }
  }

  func remove(_ observer: StateObserver) {
    lock.withLock { observers.removeAll { $0 === observer } }
  }

  var observedState: ObservedState<OperationState>? { lock.withLock { madeState } }

  /// Keeps the observed state, and the observer that tells it, unless there is one already. Gives
  /// the one to use, and the state with which the observer begins.
  func keep(
    _ new: ObservedState<OperationState>, _ observer: StateObserver
  ) -> (kept: ObservedState<OperationState>, first: OperationState?) {
    lock.withLock {
      if let madeState { return (madeState, nil) }
      madeState = new
      if machine.state != .ended { observers.append(observer) }
      return (new, machine.state)
    }
  }

  // MARK: Grace

  var cancelGrace: Grace? {
    get { lock.withLock { grace } }
    set { lock.withLock { grace = newValue } }
  }

  /// Keeps the timer of the grace time as long as it matters. False: it does not any more.
  func keep(graceTimer timer: GraceTimer) -> Bool {
    lock.withLock {
      if machine.outcome != nil { return false }
      graceTimer = timer
      return true
    }
  }

  // MARK: Dependencies

  /// Looks at the links, or changes them.
  func withLinks<Result>(_ body: (inout DependencyLinks) -> Result) -> Result {
    lock.withLock { body(&links) }
  }
}
