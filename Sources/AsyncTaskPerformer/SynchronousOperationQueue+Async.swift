extension SynchronousOperationQueue {
  /// Executes a list of operations and returns the value that was reported last.
  ///
  /// The list is begun before the caller suspends: lists of one actor's tasks in the order of their
  /// calls. Cancelling the waiting task cancels the list.
  ///
  /// - Returns: `defaultValue` for an empty list.
  /// - Throws: The first error, as soon as it is reported; `CancellationError`;
  ///   `SynchronousOperationQueueError.neverExecuted`. See `executeOperations(_:completion:)`.
  public nonisolated(nonsending) func execute(
    _ operations: [AsyncOperationWithCompletion<T>]
  ) async throws -> T {
    try await beginAndWait(operations)
  }

  private func beginAndWait(
    _ operations: [AsyncOperationWithCompletion<T>],
    isolation: isolated (any Actor)? = #isolation
  ) async throws -> T {
    let list = CancellableBatch<T>()
    return try await withTaskCancellationHandler {
      // Captured, so that the caller does not leave its actor before the list has begun.
      _ = isolation
      return try await withCheckedThrowingContinuation { continuation in
        list.set(begin(operations) { continuation.resume(with: $0) })
      }
    } onCancel: {
      list.cancel()
    }
  }

  /// Executes a list of operations and returns their values in the list's order, each as soon as
  /// all before it have ended.
  ///
  /// The list begins with this call. An operation that ends without a value is left out. The first
  /// error ends the sequence, after the values whose turn had come. Releasing the sequence, or
  /// cancelling the task that reads it, cancels the rest of the list. An empty list has no values.
  public func results(
    of operations: [AsyncOperationWithCompletion<T>]
  ) -> AsyncThrowingStream<T, any Error> {
    if operations.isEmpty { return AsyncThrowingStream { $0.finish() } }
    return AsyncThrowingStream { continuation in
      let list = CancellableBatch<T>()
      continuation.onTermination = { end in
        if case .cancelled = end { list.cancel() }
      }
      list.set(
        begin(operations, each: { continuation.yield($0) }) { result in
          switch result {
          case .success, .failure(SynchronousOperationQueueError.neverExecuted):
            continuation.finish()
          case .failure(let error): continuation.finish(throwing: error)
          }
        })
    }
  }
}
