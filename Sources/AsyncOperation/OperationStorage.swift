import Inturn

/// An operation's state besides Foundation's part.
final class OperationStorage: @unchecked Sendable {
  // Safe to share: `lock` protects everything that changes.

  typealias EndHandler = @Sendable (OperationEnd) -> Void
  private typealias CancelHandler = (token: ObjectIdentifier?, call: @Sendable () -> Void)

  /// Protects all variables below. While it is held, neither Foundation nor user code is called,
  /// and nothing is released that might call them.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var machine = OperationMachine()
  /// How it will end, once that is decided, and its result.
  @exclusivity(unchecked) private var saidEnd: OperationEnd?
  @exclusivity(unchecked) private var box: OutcomeBox?
  /// In the order in which they were set, each with the token that has set it, if one has.
  @exclusivity(unchecked) private var cancelHandlers: [CancelHandler] = []
  /// Called at the end: before Foundation is told of it, and afterwards.
  @exclusivity(unchecked) private var gateOpener: EndHandler?
  @exclusivity(unchecked) private var endHandlers: [EndHandler] = []
  /// Created on first use.
  @exclusivity(unchecked) private var madeState: ObservedState<OperationState>?
  @exclusivity(unchecked) private var links = DependencyLinks()
  @exclusivity(unchecked) private var grace: Grace?
  @exclusivity(unchecked) private var graceTimer: GraceTimer?

  @exclusivity(unchecked) private var madeAt = Site.unknown

  // MARK: Looking

  var state: OperationState { lock.withLock { machine.state } }

  /// How it has ended. Cancelled, if a start that found it cancelled has ended it.
  var end: OperationEnd? {
    lock.withLock { machine.state == .ended ? saidEnd ?? .cancelled : nil }
  }

  var isExecuting: Bool { lock.withLock { machine.state == .running } }
  var isFinished: Bool { lock.withLock { machine.state == .ended } }
  var isCancelRequested: Bool { lock.withLock { machine.isCancelRequested } }

  /// Where the operation was created, if known.
  var site: Site {
    get { lock.withLock { madeAt } }
    set { lock.withLock { madeAt = newValue } }
  }

  /// The operation's result, once it has ended.
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

  /// The handlers that have to be called, and the grace time that begins.
  func cancel() -> (handlers: [@Sendable () -> Void], grace: Grace?) {
    lock.withLock {
      guard machine.cancel() else { return ([], nil) }
      let handlers = cancelHandlers.map(\.call)
      cancelHandlers = []
      return (handlers, machine.isStarted ? grace : nil)
    }
  }

  /// Keeps a handler to call on a cancel. False when the operation was cancelled already; the
  /// caller then calls the handler. A token's handler replaces the one that it has set before.
  func keep(
    cancelHandler: @escaping @Sendable () -> Void, of token: ObjectIdentifier? = nil
  ) -> Bool {
    // Released without the lock.
    var replaced: CancelHandler?
    let isDone = lock.withLock {
      if machine.isCancelRequested { return machine.outcome != nil }
      if machine.outcome != nil { return true }
      if token != nil, let index = cancelHandlers.firstIndex(where: { $0.token == token }) {
        replaced = cancelHandlers.remove(at: index)
      }
      cancelHandlers.append((token, cancelHandler))
      return true
    }
    withExtendedLifetime(replaced) {}
    return isDone
  }

  func nextStep() -> OperationMachine.Step { lock.withLock { machine.nextStep() } }

  /// Whether a cancel still calls its handlers: nothing but the cancel itself has ended the
  /// operation, at its start or after its grace time.
  var callsCancelHandlers: Bool { lock.withLock { saidEnd.map { $0.cause == .grace } ?? true } }

  /// Enters the running state, and returns the observed state, whose observers have to be told.
  func enterRunning() -> ObservedState<OperationState>? {
    lock.withLock {
      machine.enter(.running)
      _ = madeState?.stage(.running)
      return madeState
    }
  }

  /// What has to be told of the end.
  struct Told {
    let end: OperationEnd
    let gateOpener: EndHandler?
    let handlers: [EndHandler]
    let observed: ObservedState<OperationState>?
  }

  /// Enters the ended state, and returns who has to be told of it.
  func enterEnd() -> Told {
    // Released without the lock.
    var cancelled: [CancelHandler] = []
    var timer: GraceTimer?
    let told = lock.withLock {
      machine.enter(.ended)
      _ = madeState?.stage(.ended)
      defer { (gateOpener, endHandlers) = (nil, []) }
      swap(&cancelled, &cancelHandlers)
      swap(&timer, &graceTimer)
      return Told(
        end: saidEnd ?? .cancelled, gateOpener: gateOpener, handlers: endHandlers,
        observed: madeState)
    }
    withExtendedLifetime((cancelled, timer)) {}
    return told
  }

  // MARK: Observers

  /// Keeps a handler to call at the end. False when that has come; the caller then calls the
  /// handler.
  func keep(endHandler: @escaping EndHandler) -> Bool {
    lock.withLock {
      if machine.state == .ended { return false }
      endHandlers.append(endHandler)
      return true
    }
  }

  /// Sets what is called at the end before Foundation is told of it.
  func keep(gateOpener: @escaping EndHandler) {
    lock.withLock { if machine.state != .ended { self.gateOpener = gateOpener } }
  }

  var madeObservedState: ObservedState<OperationState>? { lock.withLock { madeState } }

  var observedState: ObservedState<OperationState> {
    lock.withLock {
      if let madeState { return madeState }
      let made = ObservedState(machine.state)
      if machine.state == .ended { made.finish() }
      madeState = made
      return made
    }
  }

  // MARK: Grace

  var cancelGrace: Grace? {
    get { lock.withLock { grace } }
    set { lock.withLock { grace = newValue } }
  }

  /// Keeps the timer of the grace time while it matters. False when it no longer does.
  func keep(graceTimer timer: GraceTimer) -> Bool {
    lock.withLock {
      if machine.outcome != nil { return false }
      graceTimer = timer
      return true
    }
  }

  // MARK: Dependencies

  /// Reads or changes the links.
  func withLinks<Result>(_ body: (inout DependencyLinks) -> Result) -> Result {
    lock.withLock { body(&links) }
  }
}
