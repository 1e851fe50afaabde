/// A queue whose tasks can be cancelled together.
///
/// It wraps a ``FIFOQueue`` or an ``ActorQueue``. Several may wrap the same one: each cancels only
/// the tasks that were created on itself.
public final class CancellableQueue<UnderlyingQueue: Sendable>: Sendable {
  @usableFromInline let underlyingQueue: UnderlyingQueue
  @usableFromInline let registry = TaskRegistry()

  /// A queue whose tasks can be cancelled together. The other one can be used beside it.
  public init(underlyingQueue: UnderlyingQueue) { self.underlyingQueue = underlyingQueue }

  /// Cancels the tasks that were created on this queue and have not ended, pending ones and running
  /// ones; tasks that are created later are not affected.
  ///
  /// May be called from anywhere, also from a cancellation handler of such a task.
  public func cancelTasks() { registry.cancelAll() }
}
