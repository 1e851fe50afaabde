/// An operation that ends with a value.
public final class ConcurrentResultOperation<Value: Sendable>: ConcurrentOperation,
  @unchecked Sendable
{
  // Safe to share: nothing is added that changes.

  /// What the operation gives; waits until it has ended, without blocking a thread.
  ///
  /// - Throws: What its function has thrown; ``ConcurrentOperationError`` when it ended otherwise,
  ///   or has joined an operation that gives another kind of value; ``ConcurrentQueue/DeadlockError``
  ///   when an operation, or a child task of it, awaits one that cannot end before that operation:
  ///   itself, one that comes after it, or one that waits for its place round a ring of queues.
  ///
  /// The wait is not affected by the cancelling of the task that waits.
  public var value: Value {
    get async throws {
      let end = try await endUnlessDeadlock
      if case .failed(let error) = end { throw error }
      guard case .finished = end, let box = outcomeBox as? ValueBox<Value> else {
        throw ConcurrentOperationError(end: end)
      }
      return box.value
    }
  }
}
