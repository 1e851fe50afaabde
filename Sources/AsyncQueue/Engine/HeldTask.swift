import Inturn

/// The plain place of a task in a FIFO queue.
///
/// It is the executor of an actor on which the task begins, and does nothing: so the runtime hands it
/// the task's first job, and the task begins when the queue has come to it, without having to wait in
/// between. The jobs up to the body's first wait are run on the spot, as on no actor; the body runs where
/// it belongs, prefers no executor, and its child tasks inherit nothing.
@usableFromInline
final class HeldTask: PlainPlace, SerialExecutor, @unchecked Sendable {
  // Safe to share: as its superclass; `drainer` is written before it begins.

  private nonisolated(unsafe) var drainer: LaneDrainer?

  // The superclass's `lock` protects what follows: who comes second goes on with the queue.
  @exclusivity(unchecked) private var hasReturned = false
  @exclusivity(unchecked) private var hasSuspended = false
  /// What the task does next, and whether whoever starts it is still to come for that.
  @exclusivity(unchecked) private var job: UnownedJob?
  @exclusivity(unchecked) private var isOpen = true

  /// Takes the first job of the task, which is being created, and those that follow while it is
  /// started; passes others on.
  @usableFromInline
  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    lock.lock()
    let isTaken = isOpen
    if isTaken { self.job = job }
    lock.unlock()
    if !isTaken { globalConcurrentExecutor.enqueue(job) }
  }

  // MARK: In the queue

  /// Puts the task, which has just been created, into the queue.
  @inlinable
  func enqueue<Success>(_ task: Task<Success, Never>) {
    enqueue(TaskAddress(of: task))
    withExtendedLifetime(task) {}
  }

  @usableFromInline
  func enqueue(_ task: TaskAddress) {
    adopt(task)
    if enqueue(tag: Self.tag) { return }
    // What is taken runs elsewhere from now on.
    lock.lock()
    let job = self.job
    self.job = nil
    isOpen = false
    lock.unlock()
    if let job { globalConcurrentExecutor.enqueue(job) }
  }

  /// Says that a plain operation is one. No priority has this tag.
  static var tag: UInt { 7 }

  /// The one of a plain operation that has started.
  static func take(_ context: UInt) -> HeldTask {
    unsafeDowncast(reference(context).takeRetainedValue(), to: HeldTask.self)
  }

  /// Runs the task until it suspends or ends. False when it has suspended: then it goes on with the
  /// queue itself when it ends.
  func run(_ token: Handle, _ drainer: LaneDrainer, isAskedToEnd: Bool) -> Bool {
    self.drainer = drainer
    isMarked = isAskedToEnd
    isClaimed(token)
    core.escalateIfUrgent(self)
    while let job = takeJob() { job.runSynchronously(on: Self.noActor) }
    lock.lock()
    let hasReturned = self.hasReturned
    hasSuspended = !hasReturned
    lock.unlock()
    return hasReturned
  }

  private func takeJob() -> UnownedJob? {
    lock.lock()
    defer { lock.unlock() }
    let job = self.job
    self.job = nil
    isOpen = job != nil
    return job
  }

  // MARK: The body's side

  @usableFromInline
  override func begin() {
    core.begin(self)
    // Later than that, who cancels all finds it himself.
    if isMarked || Engine.isCancelled(token).1 { withUnsafeCurrentTask { $0?.cancel() } }
  }

  @usableFromInline
  @discardableResult
  override func finish() -> Bool {
    letGo()
    core.end(self)
    let drainer = self.drainer.unsafelyUnwrapped
    self.drainer = nil
    _ = Engine.end(token, as: .finished)
    lock.lock()
    hasReturned = true
    let hasSuspended = self.hasSuspended
    lock.unlock()
    if hasSuspended {
      drainer.plainReturned()
      core.drive(drainer)
    }
    return false
  }
}

extension HeldTask {
  /// The executor of what is on no actor is null.
  private static var noActor: UnownedSerialExecutor {
    unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
  }

  /// Runs the body.
  @inlinable
  @concurrent
  func performHeld<Value>(_ body: () async -> Value) async -> Value {
    if isRefused { return await performRefused(body) }
    // It has been claimed, or the task would not run.
    begin()
    let value = await bind(isolation: nil, body).get()
    finish()
    return value
  }
}

/// Where such a task begins: at a door that its place keeps. It does nothing there.
@usableFromInline
actor HeldDoor {
  @usableFromInline let place: HeldTask

  @usableFromInline
  init(_ place: HeldTask) { self.place = place }

  @usableFromInline
  nonisolated var unownedExecutor: UnownedSerialExecutor { place.asUnownedSerialExecutor() }
}
