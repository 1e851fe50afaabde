internal import InturnCore

/// The place of a task in a FIFO queue that cannot be refused, and has neither name nor limits.
///
/// It is the executor that the task prefers: so the runtime hands it the task's first job, and the
/// task begins when the queue has come to it, without having to wait in between. What the task does
/// after it has suspended, and what its child tasks do, goes to the process's usual executor.
@usableFromInline
final class HeldTask: OwnedFrame, TaskExecutor, @unchecked Sendable {
  // Safe to share: as its superclass; `job` is written before the operation is in the queue, what
  // else has no lock before it begins.

  private nonisolated(unsafe) var job: UnownedJob?
  private nonisolated(unsafe) var drainer: LaneDrainer?
  /// Whether it was asked to end before it started.
  private nonisolated(unsafe) var isMarked = false

  // The superclass's `lock` protects what follows: who comes second goes on with the queue.
  @exclusivity(unchecked) private var hasReturned = false
  @exclusivity(unchecked) private var hasSuspended = false

  /// Takes the first job of the task, which is being created; passes others on.
  @usableFromInline
  func enqueue(_ job: consuming ExecutorJob) {
    if self.job == nil {
      self.job = UnownedJob(job)
    } else {
      globalConcurrentExecutor.enqueue(job)
    }
  }

  // MARK: In the queue

  /// Puts the task, which has just been created, into the queue; stops the program when that refuses
  /// it.
  @inlinable
  func enqueue<Success>(_ task: Task<Success, Never>, from file: StaticString, _ line: UInt) {
    enqueue(TaskAddress(of: task), from: file, line)
    withExtendedLifetime(task) {}
  }

  @usableFromInline
  func enqueue(_ task: TaskAddress, from file: StaticString, _ line: UInt) {
    precondition(job != nil, "A task's first job is handed to its executor when it is created.")
    adopt(task)
    let context = Unmanaged.passRetained(self)
    let status = Engine.enqueueObstinate(
      core.queue, context: UInt(bitPattern: context.toOpaque()) | Self.tag,
      destroy: { OwnedFrame.reference(UInt(bitPattern: $0)).release() })
    if status != .ok { core.stop(core.error(for: status), file, line) }
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
    job.unsafelyUnwrapped.runSynchronously(on: asUnownedTaskExecutor())
    lock.lock()
    let hasReturned = self.hasReturned
    hasSuspended = !hasReturned
    lock.unlock()
    return hasReturned
  }

  // MARK: The body's side

  @usableFromInline
  override func begin() {
    isRun(by: RuntimeTask.current)
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
