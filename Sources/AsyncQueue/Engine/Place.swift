import Inturn

/// An operation with a place in its queue, whose body is a task, mostly its own. `Ticket`,
/// `HeldTask` and `Turn` are the places.
///
///     pending ──its queue offers it, its task claims it──▶ claimed ──the body ends──▶ over
///        │  ▲                                                   │
///        │  └──────────there is to be another attempt───────────┘
///        └──cancelled, too late──▶ refused
///
/// While it is offered, it is still pending. Claiming is the first thing that its task does when it
/// resumes, on the body's actor, so nothing has started before.
@usableFromInline
class Place: Runner, @unchecked Sendable {
  // Safe to share: `lock` protects everything that changes; its own task also reads `token` without
  // the lock.

  enum Stage { case pending, claimed, refused, over }

  /// Where its task was created.
  final let site: Site
  /// Cancels its task together with others. Refers to it until it is over.
  private let registry: TaskRegistry?
  /// The token of a claimed operation; null if the lane no longer knows the operation.
  private(set) final nonisolated(unsafe) var token = Handle(bits: 0)

  /// Whether its queue has refused it although its form cannot throw. Written before its task reads
  /// it.
  @exclusivity(unchecked)
  @usableFromInline private(set) final nonisolated(unsafe) var isRefused = false

  // `lock` protects everything below, and `task`, which is in `TaskTable` as long as it is known.
  @exclusivity(unchecked) private(set) final var stage = Stage.pending
  /// Whether its queue has offered it and it has not been claimed since.
  @exclusivity(unchecked) private final var isOffered = false
  @exclusivity(unchecked) private final var waiter: UnsafeContinuation<Void, Never>?
  /// How many attempts came before this one. Its task also reads it without the lock.
  @exclusivity(unchecked) private(set) final var attempt: UInt32 = 0

  init(
    _ core: QueueCore, priority: TaskPriority?, registry: TaskRegistry?, site: Site = .unknown
  ) {
    self.site = site
    self.registry = registry
    super.init(core, priority: priority?.rawValue ?? TaskPriority.ofCurrentTask)
    registry?.add(self)
  }

  /// Whether a cancelled task leaves the queue before its turn.
  var isCancellable: Bool { false }

  /// Whether somebody may read the progress that its body reports.
  var hasProgress: Bool { false }

  /// The operation, as its body's frame tells of it. For its own task, or under the lock.
  @usableFromInline
  final var framed: Frame.Operation {
    token.bits == 0
      ? Frame.Operation(of: core.queue, self)
      : Frame.Operation(token: token, hasProgress: hasProgress)
  }

  // MARK: The queue's side

  /// The place that one of the lane's contexts stands for.
  static func reference(_ context: UInt) -> Unmanaged<Place> {
    .fromOpaque(UnsafeRawPointer(bitPattern: context & ~LaneDrainer.tagMask).unsafelyUnwrapped)
  }

  /// The queue offers the operation: its task has to claim it.
  final func offer() {
    lock.lock()
    isOffered = true
    let waiter = self.waiter
    self.waiter = nil
    lock.unlock()
    waiter?.resume()
    core.escalateIfUrgent(self)
  }

  /// The operation was claimed and so has started.
  final func isClaimed(_ token: Handle) {
    lock.lock()
    self.token = token
    stage = .claimed
    lock.unlock()
  }

  /// Its queue has refused it; see `performRefused`.
  final func isRefused(_ error: QueueError) {
    isRefused = true
    core.report(at: site, error)
  }

  /// The operation has ended before its start. False when it was started or refused before.
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

  /// The same for the attempt with this token.
  final func askToEnd(_ attempt: Handle) {
    let isCurrent = lock.withLock { stage == .claimed && token == attempt }
    if isCurrent { askToEnd() }
  }

  // MARK: The task's side

  /// Sets the task that runs the body of an attempt. Called by whoever has created it; it may be
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
    let isAskedToEnd = self.isAskedToEnd.load(ordering: .relaxed)
    let isOfferedOrClaimed = isOffered || stage == .claimed
    lock.unlock()
    if isAskedToEnd { task.task?.cancel() }
    // Threads that began to wait before could not know the task.
    if isOfferedOrClaimed { core.escalateIfUrgent(self) }
  }

  /// Whether it is over, or will end without its queue.
  final var hasEnded: Bool { lock.withLock { stage == .over || stage == .refused } }

  /// Whether it is running or has run.
  final var hasStarted: Bool { lock.withLock { stage == .claimed || stage == .over } }

  /// Claims the operation if it is offered. Returns whether its fate is decided: claimed or
  /// refused. The task does not leave its actor between this and the body.
  @usableFromInline
  final func decide() -> Bool {
    lock.lock()
    let isPending = stage == .pending
    let isOffered = self.isOffered
    self.isOffered = false
    lock.unlock()
    return !isPending || (isOffered && claim())
  }

  /// Starts the operation, if it is still its turn.
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
      // A closure is isolated like its function only if it uses the parameter. Otherwise the task
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

  /// The body is about to begin.
  @usableFromInline
  func begin() { fatalError("a subclass says how") }

  /// The body has ended. Returns whether it took too long.
  @usableFromInline
  @discardableResult
  func finish() -> Bool { fatalError("a subclass says how") }

  /// Cancels the current task: the operation was cancelled, or refused, before its start, and runs all
  /// the same.
  final func askCurrentTaskToEnd() { withUnsafeCurrentTask { $0?.cancel() } }

  /// The body's task has ended, and another one follows for the next attempt: returns what creates
  /// it, and the attempt's number. Nil when the operation has ended, as reported by `next`, which
  /// is called under the lock.
  final func goesOn<Next>(by next: () -> Next?) -> (next: Next, attempt: UInt32)? {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    guard let next = next() else { return nil }
    stage = .pending
    isAskedToEnd.store(false, ordering: .relaxed)
    if task != .none { TaskTable.remove(task) }
    task = .none
    attempt += 1
    return (next, attempt)
  }

  /// The task is no longer needed.
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
