import Inturn
import Synchronization

/// The part behind a queue: the engine's lane, and everybody who is told about it.
///
/// It lives while the queue is used or has work. The lane retains it, and is destroyed when the
/// queue has been released and none of its work is left.
@usableFromInline
final class QueueCore: @unchecked Sendable {
  // Safe to share: `queue` is written before the core is shared; `lock` protects everything else
  // that changes.

  let label: String?
  let kind: QueueKind
  /// How many operations may be pending; nil for no limit.
  let capacity: Int?
  let clock: ManualClock?
  private(set) nonisolated(unsafe) var queue = Handle(bits: 0)
  let pin: (any AnyActorPin)?
  let takesParameter: Bool
  /// The frame of a body that runs without a turn. The visit owns it.
  private(set) nonisolated(unsafe) var visitFrame: Frame! = nil

  let quietWaits = QuietWaits()
  let broadcast = Broadcast<QueueEvent>()

  /// Protects everything below. No function is called while it is held.
  let lock = BriefLock()
  @exclusivity(unchecked) var roomLine = RoomLine()
  /// How many events of operations were sent, and whether `idle` has been sent since.
  @exclusivity(unchecked) private var operationEvents = 0
  @exclusivity(unchecked) var isIdleTold = true
  /// How many suspends are in force, for events.
  @exclusivity(unchecked) private var suspends = 0
  /// The session that takes plain operations, one after the other.
  @exclusivity(unchecked) var session: Unmanaged<Runner>?
  /// Created on first use.
  @exclusivity(unchecked) private var madeStates: QueueStates?
  /// Sessions, and operations that run, or are about to, and that the lane does not know.
  @exclusivity(unchecked) var firstRunner: Unmanaged<Runner>?
  /// How many of them have begun on an actor. Incremented under the lane's lock, decremented under
  /// `lock`.
  let begun = Atomic<Int>(0)

  /// What somebody waits for. Relaxed where only the common case is checked, that it is zero:
  /// whoever sets a bit looks at the queue afterwards.
  let interests = Atomic<UInt32>(0)
  /// How many tasks wait for their turns, and the highest priority of those that have waited since
  /// there were none. Only hints: relaxed.
  private let waiting = Atomic<Int>(0)
  private let urgency = Atomic<UInt8>(0)
  /// How many callers wait for their turn, or run a body in it. Relaxed: only reports depend on it.
  let callers = Atomic<Int>(0)

  enum Interest {
    static let quiet: UInt32 = 1 << 0
    static let room: UInt32 = 1 << 1
    static let events: UInt32 = 1 << 2
    static let released: UInt32 = 1 << 3
    static let destroyed: UInt32 = 1 << 4
    static let states: UInt32 = 1 << 5
    /// An actor is pinned, and no session will unpin it.
    static let pin: UInt32 = 1 << 6
  }

  /// - Parameters:
  ///   - pin: An actor queue's actor.
  ///   - takesParameter: Whether its plain operations are passed the actor.
  init(
    _ kind: QueueKind, label: String?, capacity: Int?, clock: ManualClock?,
    pin: (any AnyActorPin)? = nil,
    takesParameter: Bool = true
  ) {
    require(capacity ?? 1 > 0, "A queue's capacity is at least 1.")
    self.pin = pin
    self.takesParameter = takesParameter
    self.kind = kind
    self.label = label
    self.capacity = capacity
    self.clock = clock
    var options = QueueOptions(kind: kind)
    options.capacity = UInt64(capacity ?? 0)
    let (status, queue) = withOptionalCString(label) {
      options.label = $0
      return Engine.createQueue(options, host: Host(self), clock: clock?.engineClock)
    }
    guard status == .ok else { fatalError("Inturn: no memory or thread for a queue") }
    self.queue = queue
    visitFrame = Frame(of: .init(of: queue))
  }

  deinit { visitFrame.giveBack() }

  /// The queue's name in messages.
  var described: String {
    label.map { "queue \($0.quoted)" } ?? "an unnamed queue"
  }

  /// Stops the program when a refusal cannot be thrown.
  func stop(
    _ error: any Error, _ fileID: StaticString = #fileID, _ line: UInt = #line
  ) -> Never {
    fatalError("\(described) refuses an operation: \(error)", file: fileID, line: line)
  }

  /// The queue's observable states.
  var states: QueueStates {
    interests.bitwiseOr(Interest.states, ordering: .relaxed)
    return lock.withLock {
      if let madeStates { return madeStates }
      let states = QueueStates(queue: queue)
      madeStates = states
      return states
    }
  }

  /// Reports that an operation was refused whose caller cannot be told.
  func report(
    refusalOf operation: String? = nil, at site: Site, _ error: QueueError
  ) {
    Report.refused(queue: label, operation: operation, at: site, error)
  }

  // MARK: Draining

  /// Receives the engine's calls. The lane retains it, and with it the core.
  private final class Host: LaneHost {
    private let core: QueueCore

    init(_ core: QueueCore) { self.core = core }

    func laneIsReady(_ turn: OutsideExecutor.Turn) { core.drive(LaneDrainer(turn)) }

    func keep(_ context: UInt) { _ = Place.reference(context).retain() }

    var isAwaited: Bool { core.callers.load(ordering: .relaxed) > 0 || core.isRoomAwaited }

    func cancelIsDue(_ notice: OutsideExecutor.CancelNotice) {
      notice.deliver()
      // While a handler is being called, the lane is not quiet.
      core.progressed()
    }
  }

  /// Lets whatever is next come to its task.
  func drive(_ drainer: LaneDrainer) {
    handle(drainer.next(tag: nil))
    progressed()
  }

  /// Carries out a step after which the drainer is no longer needed.
  func handle(_ step: LaneDrainer.Step) {
    switch step {
    case .offered(let context): offer(context)
    case .wentBack(let turn, HeldTask.tag, let context):
      let first = PlainPriority(Place.reference(context).takeUnretainedValue().priority)
      start(DrainSession(self, tag: HeldTask.tag, first?.task), turn)
    case .wentBack(let turn, let tag, _):
      start(DrainSession(self, tag: tag, PlainPriority(tag: tag).task), turn)
    case .plain, .left: break
    }
  }

  /// Tells an operation, which was retained for this, that it is offered.
  func offer(_ context: UInt) { Place.reference(context).takeRetainedValue().offer() }

  private func start(_ session: DrainSession, _ turn: OutsideExecutor.Turn) {
    if let pin {
      // Without an actor there is nothing to run, and the turn is given back.
      if !pin.start(session, turn) { drive(LaneDrainer(turn)) }
    } else {
      session.adopt(Task.detached(priority: session.taskPriority) { await session.run(turn) })
    }
  }

  // MARK: Priorities

  /// A task begins to wait.
  func waitBegins(_ priority: TaskPriority) {
    waiting.wrappingAdd(1, ordering: .relaxed)
    isAwaited(by: priority)
  }

  func waitEnds() {
    if waiting.wrappingSubtract(1, ordering: .relaxed).newValue == 0 {
      urgency.store(0, ordering: .relaxed)
    }
  }

  /// A task of this priority waits: whatever runs before it gets at least that priority.
  func isAwaited(by priority: TaskPriority) {
    var known = urgency.load(ordering: .relaxed)
    repeat {
      // Whoever was escalated before need not be again.
      if known >= priority.rawValue { return }
      let (exchanged, original) = urgency.weakCompareExchange(
        expected: known, desired: priority.rawValue, ordering: .relaxed)
      if exchanged { break }
      known = original
    } while true
    for runner in runners() { runner.escalate(to: priority) }
  }

  func escalateIfUrgent(_ runner: Runner) {
    let urgent = urgency.load(ordering: .relaxed)
    if urgent > runner.priority { runner.escalate(to: TaskPriority(rawValue: urgent)) }
  }

  // MARK: Cancelling

  func cancelAll() {
    _ = Engine.cancelAll(queue)
    for runner in runners(areAskedToEnd: true) { runner.askToEnd() }
    pin?.unpin(self)
    progressed()
  }

  // MARK: What happened

  /// Whether anybody reads the events.
  var tellsEvents: Bool { interests.load(ordering: .relaxed) & Interest.events != 0 }

  func emit(_ event: @autoclosure () -> QueueEvent) {
    guard tellsEvents else { return }
    stage(event())
    broadcast.deliver()
  }

  /// Decides what the readers of events get next, which `broadcast` then delivers.
  func stage(_ event: QueueEvent) {
    lock.lock()
    if event.operation != nil {
      operationEvents += 1
      isIdleTold = false
    }
    lock.unlock()
    broadcast.stage(event)
  }

  /// The same for events of the queue itself. Only the first suspend and the last resume are sent.
  func emitOwn(_ event: QueueEvent) {
    let isTold = lock.withLock {
      switch event {
      case .suspended: suspends += 1
      case .resumed: suspends -= 1
      default: return true
      }
      return suspends == (event == .suspended ? 1 : 0)
    }
    if isTold { emit(event) }
  }

  /// Sends `idle` if nothing is pending or running, unless something has happened meanwhile.
  private func tellIdle() {
    let before = lock.withLock { isIdleTold ? nil : operationEvents }
    guard let before, isQuiet else { return }
    let isTold = lock.withLock {
      if isIdleTold || operationEvents != before { return false }
      isIdleTold = true
      return true
    }
    if isTold { emit(.idle) }
  }

  /// Something was started or has ended. Called without locks.
  @inline(__always)
  func progressed() {
    if interests.load(ordering: .relaxed) != 0 { tellWhoIsInterested() }
  }

  @inline(never)
  private func tellWhoIsInterested() {
    let interests = self.interests.load(ordering: .sequentiallyConsistent)
    if interests & Interest.room != 0 { giveRoom() }
    if interests & Interest.pin != 0 { unpin() }
    if interests & Interest.events != 0 { tellIdle() }
    if interests & Interest.quiet != 0 { tellQuiet() }
    if interests & Interest.released != 0 && isQuiet { destroyOnce() }
  }

  /// Releases the actor, unless a session will do that when it ends: looking whether nothing is pending
  /// costs more than an operation.
  private func unpin() {
    // First: a session that ends from now on, and cannot release the actor yet, sets it again.
    interests.bitwiseAnd(~Interest.pin, ordering: .sequentiallyConsistent)
    if lock.withLock({ session == nil }) { pin?.unpin(self) }
  }

  /// The queue's user has released it; pending operations still run.
  func release() {
    if lock.withLock({ suspends > 0 }) { emit(.resumed) }
    _ = Engine.resumeFully(queue)
    interests.bitwiseOr(Interest.released, ordering: .sequentiallyConsistent)
    tellWhoIsInterested()
  }

  private func destroyOnce() {
    let before = interests.bitwiseOr(Interest.destroyed, ordering: .sequentiallyConsistent).oldValue
    if before & Interest.destroyed != 0 { return }
    broadcast.finish()
    _ = Engine.destroy(queue: queue)
  }
}
