/// An operation that ends with a value.
public final class QueuedResult<Value: Sendable>: QueuedOperation, @unchecked Sendable {
  // Safe to share: nothing is added that changes.

  /// What the operation gives; waits until it has ended, without blocking a thread.
  ///
  /// - Throws: What its function has thrown; the ``QueueError`` that refused it;
  ///   ``QueueError/ended(_:)`` when it ended otherwise, ``QueueError/noValue`` when it has joined an
  ///   operation that gives another kind of value; ``QueueError/deadlock(_:)`` when an operation, or a
  ///   child task of it, awaits one that cannot end before that operation: itself, one that comes
  ///   after it, or one that waits for its place round a ring of queues.
  ///
  /// The wait is not affected by the cancelling of the task that waits.
  public var value: Value {
    get async throws {
      let end = try await endUnlessDeadlock
      if let error = end.error { throw error }
      guard end == .finished else { throw QueueError.ended(end) }
      guard let box = outcomeBox as? ValueBox<Value> else { throw QueueError.noValue }
      return box.value
    }
  }
}
