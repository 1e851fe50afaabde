/// A queue whose tasks can be cancelled together.
///
/// It wraps a ``FIFOQueue`` or an ``ActorQueue``. Several may wrap the same one: each cancels only
/// the tasks that were created on itself.
public final class CancellableQueue<UnderlyingQueue: Sendable>: Sendable {
  @usableFromInline let underlyingQueue: UnderlyingQueue
  @usableFromInline let registry = TaskRegistry()

  /// Wraps a queue, which can still be used directly.
  public init(underlyingQueue: UnderlyingQueue) { self.underlyingQueue = underlyingQueue }

  /// Cancels the pending and running tasks that were created on this queue; tasks that are created
  /// later are not affected.
  ///
  /// May be called from anywhere, including a cancellation handler of such a task.
  public func cancelTasks() { registry.cancelAll() }
}
