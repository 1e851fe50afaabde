import Inturn
import Synchronization

/// A task that runs one or more operations of a queue, as others see it: they ask it to end, or
/// raise its priority.
@usableFromInline
class Runner: @unchecked Sendable {
  // Safe to share: `lock` protects what changes, and the core's lock the links.

  /// Kept beyond the operation's end, which is still told.
  final let core: QueueCore

  /// The task's priority is not lower than this.
  final let priority: UInt8

  /// Links in the core's list of those that run and that the lane does not know.
  @exclusivity(unchecked) final var next: Unmanaged<Runner>?
  @exclusivity(unchecked) final var previous: Unmanaged<Runner>?

  /// Protects everything below, and what subclasses add. No function is called while it is held.
  final let lock = BriefLock()
  /// The task, while it is known and this is in use, which ends before the task.
  @exclusivity(unchecked) final var task = TaskAddress.none
  /// Changed under the lock. Relaxed: whoever reads it without has the lane's lock, which orders it
  /// before enqueues that follow a cancel.
  final let isAskedToEnd = Atomic(false)

  init(_ core: QueueCore, priority: UInt8) {
    self.core = core
    self.priority = priority
  }

  /// Cancels the task, if it is the operation's own.
  final func askToEnd() {
    lock.lock()
    isAskedToEnd.store(true, ordering: .relaxed)
    let task = self.task.task
    lock.unlockAfterReadingObject()
    task?.cancel()
  }

  /// Raises the task's priority.
  final func escalate(to priority: TaskPriority) {
    let task = lock.withLock { self.task.task }
    task?.escalate(to: priority)
  }
}
