/// An operation that ends with a value.
public final class QueuedResult<Value: Sendable>: QueuedOperation, @unchecked Sendable {
  // Safe to share: it adds no state.

  /// The operation's value. Waits until the operation has ended, without blocking a thread.
  ///
  /// - Throws: The error that its function has thrown; the ``QueueError`` that refused it;
  ///   ``QueueError/ended(_:)`` when it ended otherwise; ``QueueError/noValue`` when it has joined
  ///   an operation without a value, or with one of another type; ``QueueError/deadlock(_:)`` when
  ///   an operation, or a child task of it, awaits one that cannot end before it: itself, one that
  ///   depends on it, or one that waits for its place round a ring of queues.
  ///
  /// Cancelling the waiting task does not end the wait. Reports do not name the line of this wait,
  /// which a property cannot know; they name that of ``QueuedOperation/waitForEnd()``.
  public var value: Value {
    get async throws {
      let end = try await endUnlessDeadlock(at: .unknown)
      if let error = end.error { throw error }
      guard end == .finished || end == OperationEnd(.finished, .joined) else {
        throw QueueError.ended(end)
      }
      guard let box = outcomeBox as? ValueBox<Value> else { throw QueueError.noValue }
      return box.value
    }
  }
}
