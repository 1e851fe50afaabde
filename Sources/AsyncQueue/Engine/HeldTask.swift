import Inturn

/// The plain place of a task in a FIFO queue.
///
/// This is the executor of an actor on which the task begins, and runs nothing by itself. So the
/// runtime hands it the task's first job, and the task begins when its turn comes, without having
/// to suspend before. The jobs up to the body's first suspension are run synchronously, as on no
/// actor. The body runs where it belongs, has no preferred executor, and its child tasks inherit
/// nothing.
@usableFromInline
final class HeldTask: PlainPlace, SerialExecutor, @unchecked Sendable {
  // Safe to share: see the superclass; `drainer` is written before the task begins.

  private nonisolated(unsafe) var drainer: LaneDrainer?

  // The superclass's `lock` protects everything below: whoever comes second carries on the queue.
  @exclusivity(unchecked) private var hasReturned = false
  @exclusivity(unchecked) private var hasSuspended = false
  /// The task's next job, and whether jobs are still taken here.
  @exclusivity(unchecked) private var job: UnownedJob?
  @exclusivity(unchecked) private var isOpen = true

  /// Takes the first job of the task that is being created, and the jobs that follow while it is
  /// being run here; passes other jobs on.
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

  /// Enqueues the task, which has just been created. The caller keeps it alive.
  @usableFromInline
  func enqueue(_ task: TaskAddress) {
    adopt(task)
    if enqueue(tag: Self.tag) { return }
    // The job that was taken runs elsewhere from now on.
    lock.lock()
    let job = self.job
    self.job = nil
    isOpen = false
    lock.unlock()
    if let job { globalConcurrentExecutor.enqueue(job) }
  }

  /// The tag of plain operations that are held tasks. No priority has it.
  static var tag: UInt { 7 }

  /// The held task of a plain operation that has started.
  static func take(_ context: UInt) -> HeldTask {
    unsafeDowncast(reference(context).takeRetainedValue(), to: HeldTask.self)
  }

  /// Runs the task until it suspends or ends. False when it has suspended; it then carries on the
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
    // From now on, a cancel-all finds the task itself.
    if isMarked || Engine.isCancelled(token).1 { askCurrentTaskToEnd() }
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
  /// The executor for code on no actor is null.
  private static var noActor: UnownedSerialExecutor {
    unsafeBitCast((UInt(0), UInt(0)), to: UnownedSerialExecutor.self)
  }

  /// Runs the body.
  @inlinable
  @concurrent
  func performHeld<Value>(_ body: () async -> Value) async -> Value {
    if isRefused { return await performRefused(body) }
    // It has been claimed, as the task would not run otherwise.
    begin()
    let value = await Frame.bind(framed, isolation: nil, body).get()
    finish()
    return value
  }
}

/// The actor on which a held task begins. Its executor is the task's place; it does nothing itself.
@usableFromInline
actor HeldDoor {
  @usableFromInline let place: HeldTask

  @usableFromInline
  init(_ place: HeldTask) { self.place = place }

  @usableFromInline
  nonisolated var unownedExecutor: UnownedSerialExecutor { place.asUnownedSerialExecutor() }
}
