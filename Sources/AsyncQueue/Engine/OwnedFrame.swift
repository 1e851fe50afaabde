import Inturn

/// One operation that has a place in its queue, and its body a task, mostly of its own: `Ticket` and
/// `Turn` say what the place is. It is the frame of its body, too.
///
///     pending ──its queue offers it, its task claims it──▶ claimed ──the body ends──▶ over
///        │  ▲                                                   │
///        │  └──────────there is to be another attempt───────────┘
///        └──cancelled, too late──▶ refused
///
/// What is offered is pending still. The claim is the first thing that its task does when it goes on, on
/// the actor that the body runs on: so nothing has started before.
@usableFromInline
class OwnedFrame: Frame, @unchecked Sendable {
  // Safe to share: `lock` protects all that changes, but for `token`, which its own task also reads
  // without.

  enum Stage { case pending, claimed, refused, over }

  /// Keeps the core, of which a frame does not, beyond the operation's end, which is still told.
  private let keptCore: QueueCore
  /// The priority of who enqueued it; that of its task is not lower.
  final let priority: UInt8
  /// Where its task was created.
  final let site: Site
  /// Who can cancel its task together with others', and knows it until it is over.
  private let registry: TaskRegistry?
  /// Of an operation that has been claimed; null where the lane does not know it any more.
  private(set) final nonisolated(unsafe) var token = Handle(bits: 0)

  /// Whether its queue has not accepted it although it cannot be refused. Written before its task looks.
  @usableFromInline private(set) final nonisolated(unsafe) var isRefused = false

  /// In the core's list of those whose bodies run and that the lane does not know; its lock protects
  /// the links.
  @exclusivity(unchecked) final var next: Unmanaged<OwnedFrame>?
  @exclusivity(unchecked) final var previous: Unmanaged<OwnedFrame>?

  /// Protects what follows, and what subclasses add. Nothing is called while it is held.
  final let lock = BriefLock()
  @exclusivity(unchecked) private(set) final var stage = Stage.pending
  /// Whether its queue has offered it, and it was not claimed since.
  @exclusivity(unchecked) private final var isOffered = false
  @exclusivity(unchecked) private final var waiter: UnsafeContinuation<Void, Never>?
  /// The task that runs the body, where it is the operation's own and known, until it is over: that
  /// long the task lives. So long it is in the table of these, too.
  @exclusivity(unchecked) private final var task = TaskAddress.none
  @exclusivity(unchecked) private final var isAskedToEnd = false
  /// How many attempts were over before this one. Its task reads it without the lock, too.
  @exclusivity(unchecked) private(set) final var attempt: UInt32 = 0

  init(
    _ core: QueueCore, priority: TaskPriority?, registry: TaskRegistry?, site: Site = .unknown
  ) {
    self.site = site
    self.priority = priority?.rawValue ?? TaskPriority.ofCurrentTask
    keptCore = core
    self.registry = registry
    super.init(core)
    registry?.add(self)
  }

  /// Whether a cancelled task leaves the queue before its turn.
  var isCancellable: Bool { false }

  // MARK: The queue's side

  /// The one that a context of the lane's stands for.
  static func reference(_ context: UInt) -> Unmanaged<OwnedFrame> {
    .fromOpaque(UnsafeRawPointer(bitPattern: context & ~LaneDrainer.tagMask).unsafelyUnwrapped)
  }

  /// The queue offers the operation: its task is to claim it.
  final func offer() {
    lock.lock()
    isOffered = true
    let waiter = self.waiter
    self.waiter = nil
    lock.unlock()
    waiter?.resume()
    core.escalateIfUrgent(self)
  }

  /// The operation has started.
  final func isClaimed(_ token: Handle) {
    lock.lock()
    self.token = token
    stage = .claimed
    lock.unlock()
  }

  /// Its queue has not accepted it: `performRefused` says what becomes of it.
  final func isRefused(_ error: QueueError) {
    isRefused = true
    core.report(at: site, error)
  }

  /// The operation has ended before its start. False when it has been started, or refused before.
  final func refuse() -> Bool {
    lock.lock()
    if stage != .pending {
      lock.unlock()
      return false
    }
    stage = .refused
    let waiter = self.waiter
    self.waiter = nil
    lock.unlock()
    waiter?.resume()
    return true
  }

  /// The same for one attempt, of this token.
  final func askToEnd(_ attempt: Handle) {
    lock.lock()
    let isCurrent = stage == .claimed && token == attempt
    lock.unlock()
    if isCurrent { askToEnd() }
  }

  /// Cancels the body's task, where that is the operation's own.
  final func askToEnd() {
    lock.lock()
    isAskedToEnd = true
    let task = self.task.task
    lock.unlockAfterReadingObject()
    task?.cancel()
  }

  /// Raises the priority of what runs.
  final func escalate(to priority: TaskPriority) {
    lock.lock()
    let task = self.task.task
    lock.unlockAfterReadingObject()
    task?.escalate(to: priority)
  }

  // MARK: The task's side

  /// The task that runs the body of an attempt, told once it exists, by who has created it. It may be
  /// over by then, and another attempt under way.
  @inlinable
  final func adopt<Success, Failure>(_ task: Task<Success, Failure>, attempt: UInt32 = 0) {
    adopt(TaskAddress(of: task), attempt: attempt)
    withExtendedLifetime(task) {}
  }

  @usableFromInline
  final func adopt(_ task: TaskAddress, attempt: UInt32 = 0) {
    lock.lock()
    if stage == .over || stage == .refused || attempt != self.attempt {
      lock.unlock()
      return
    }
    self.task = task
    TaskTable.add(self, of: task)
    let isAskedToEnd = self.isAskedToEnd
    let isOfferedOrClaimed = isOffered || stage == .claimed
    lock.unlock()
    if isAskedToEnd { task.task?.cancel() }
    // Who began to wait before could not know the task.
    if isOfferedOrClaimed { core.escalateIfUrgent(self) }
  }

  /// Whether it is over, or will be without its queue's doing.
  final var hasEnded: Bool {
    lock.lock()
    defer { lock.unlock() }
    return stage == .over || stage == .refused
  }

  /// Whether it runs, or has run.
  final var hasStarted: Bool {
    lock.lock()
    defer { lock.unlock() }
    return stage == .claimed || stage == .over
  }

  /// Claims the operation if it is offered. Whether it is decided what becomes of it: claimed or
  /// refused. Between that and its body, the task does not leave its actor.
  @usableFromInline
  final func decide() -> Bool {
    lock.lock()
    let isPending = stage == .pending
    let isOffered = self.isOffered
    self.isOffered = false
    lock.unlock()
    return !isPending || (isOffered && claim())
  }

  /// Starts the operation, if it is its turn still.
  func claim() -> Bool { fatalError("a subclass says how") }

  /// Waits until there may be something to decide: it is offered or refused.
  @usableFromInline
  final nonisolated(nonsending) func waitForOffer() async {
    core.waitBegins(TaskPriority(rawValue: TaskPriority.ofCurrentTask))
    defer { core.waitEnds() }
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
      return await waitForResume()
    }
    let isolation = #isolation
    await withTaskPriorityEscalationHandler {
      // A closure is isolated as its function is only if it uses the parameter; else the task
      // would leave its actor here and come back in any order.
      _ = isolation
      await waitForResume()
    } onPriorityEscalated: { _, priority in
      self.core.isAwaited(by: priority)
    }
  }

  private final nonisolated(nonsending) func waitForResume() async {
    await withUnsafeContinuation { continuation in
      lock.lock()
      if stage == .pending && !isOffered {
        waiter = continuation
        lock.unlock()
      } else {
        lock.unlock()
        continuation.resume()
      }
    }
  }

  /// The body begins.
  @usableFromInline
  func begin() { fatalError("a subclass says how") }

  /// The body has ended. Gives back whether it took too long.
  @usableFromInline
  @discardableResult
  func finish() -> Bool { fatalError("a subclass says how") }

  /// An operation that was cancelled while it was pending, and cannot be refused, knows it.
  final func askCurrentTaskToEnd() { withUnsafeCurrentTask { $0?.cancel() } }

  /// Its body's task has ended, and another one is to come for its next attempt: what makes that, and
  /// which it is. Nil when it has ended, which `next` is asked under the lock.
  final func goesOn<Next>(by next: () -> Next?) -> (next: Next, attempt: UInt32)? {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    guard let next = next() else { return nil }
    stage = .pending
    isAskedToEnd = false
    if task != .none { TaskTable.remove(task) }
    task = .none
    attempt += 1
    return (next, attempt)
  }

  /// Nothing is to be done with the task any more.
  final func letGo() {
    registry?.remove(self)
    lock.lock()
    if stage == .claimed { stage = .over }
    let task = self.task
    self.task = .none
    if task != .none { TaskTable.remove(task) }
    lock.unlock()
  }
}
