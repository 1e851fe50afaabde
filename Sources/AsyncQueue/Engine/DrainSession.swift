import Inturn
import Synchronization

/// A task that runs plain operations of one priority, one after the other.
///
/// Cancelling the task cancels the operation that runs in it; the task then takes no other one. On
/// an actor, another session takes over when an operation suspends: `DrainSession+Actor`.
final class DrainSession: @unchecked Sendable {
  // Safe to share: `lock` protects the fields below it, and an actor `state`; the rest never
  // changes.

  let core: QueueCore
  let priority: PlainPriority
  /// Only accessed on the session's actor.
  nonisolated(unsafe) var state = State.running

  /// Protects everything below.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var task: Task<Void, Never>?

  /// Relaxed: the lane's lock orders it before enqueues that follow the cancel.
  private let isCancelled = Atomic(false)

  /// The state of a session on an actor.
  enum State {
    /// It runs an operation, or is about to.
    case running
    /// It has run enough for now, and its relay will go on.
    case handedOver
    /// Its operation has suspended, and its relay has gone on.
    case displaced
    case done
  }

  /// How many operations the task runs before it gives others its thread or actor.
  static var operationsInARow: Int { 1024 }

  init(_ core: QueueCore, _ priority: PlainPriority) {
    self.core = core
    self.priority = priority
  }

  /// The tag of the operations that the session can take; nil once it is cancelled, even if its
  /// task has not noticed yet.
  @inline(__always)
  var tag: UInt? {
    Task.isCancelled || isCancelled.load(ordering: .relaxed) ? nil : priority.tag
  }

  /// Sets the task that runs the session, once it exists.
  func adopt(_ task: Task<Void, Never>) {
    lock.lock()
    self.task = task
    let isCancelled = self.isCancelled.load(ordering: .relaxed)
    lock.unlock()
    if isCancelled { task.cancel() }
  }

  func cancel() {
    lock.lock()
    isCancelled.store(true, ordering: .relaxed)
    let task = self.task
    lock.unlockAfterReadingObject()
    task?.cancel()
  }

  func escalate(to priority: TaskPriority) {
    let task = lock.withLock { self.task }
    task?.escalate(to: priority)
  }

  /// Runs the closures of a FIFO queue, each to its end.
  func runClosures(_ turn: OutsideExecutor.Turn) async {
    let drainer = LaneDrainer(turn)
    core.begin(self)
    _ = await Frame.bind(.init(of: core.queue), isolation: nil) { await runClosures(of: drainer) }
    core.progressed()
  }

  private func runClosures(of drainer: LaneDrainer) async {
    var rest = Self.operationsInARow
    while true {
      let step = drainer.next(tag: tag)
      guard case .plain(let work, let context, let token) = step else {
        // Before the lane gets another session, which calls `begin`.
        core.end(self)
        return core.handle(step)
      }
      core.progressed()
      await Self.call(PlainClosure(work: work, context: context))
      _ = Engine.end(token, as: .finished)
      drainer.plainReturned()
      rest -= 1
      if rest == 0 {
        rest = Self.operationsInARow
        await Task.yield()
      }
    }
  }

  /// Runs the held tasks of a FIFO queue, each when the one before it has ended.
  func runTasks(_ turn: OutsideExecutor.Turn) async {
    let drainer = LaneDrainer(turn)
    core.begin(self)
    var rest = Self.operationsInARow
    while true {
      let step = drainer.next(tag: HeldTask.tag, isPatient: true)
      guard case .plain(let work, let context, let token) = step else {
        core.end(self)
        core.handle(step)
        break
      }
      core.progressed()
      let task = HeldTask.take(context)
      if !task.run(token, drainer, isAskedToEnd: work == LaneDrainer.askedToEnd) {
        core.end(self)
        break
      }
      drainer.plainReturned()
      rest -= 1
      if rest == 0 {
        rest = Self.operationsInARow
        await Task.yield()
      }
    }
    core.progressed()
  }

  /// By the time that this returns, the closure is released.
  @inline(__always)
  private static func call(_ closure: consuming PlainClosure) async {
    let function = closure.take()
    await function()
  }
}
