import InturnCore

/// Operations that are tasks.
extension QueueEngine {
  /// Enqueues an asynchronous function, which runs in a task of its own. `isOnMain`: the queue
  /// calls its work on the main thread. Operations with the tokens `callers` wait for it.
  package func enqueueTask<Value: Sendable>(
    _ options: OperationOptions, isOnMain: Bool = false, _ fileID: StaticString, _ line: UInt,
    waitedForBy callers: [Handle] = [], _ function: @escaping @Sendable () async throws -> Value
  ) -> QueuedResult<Value> {
    let priority = Task.currentPriority
    let operation = QueuedResult<Value>(options, isOnMain: isOnMain) { token in
      token.isHeldByTask()
      let task = Task.detached(priority: priority) {
        await Frame.bind(Frame.Operation(token: token.token), waitedForBy: callers) {
          await token.finish(by: function)
        }
      }
      token.onCancel { _ in task.cancel() }
    }
    operation.enqueue(on: self, options, fileID, line)
    return operation
  }

  /// The same, waiting for the result. Cancelling the waiting task cancels the operation. It is
  /// enqueued before the caller suspends.
  package nonisolated(nonsending) func run<Value: Sendable>(
    _ options: OperationOptions, isOnMain: Bool = false, _ fileID: StaticString, _ line: UInt,
    _ function: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    // Once it is enqueued, it may run before the cancellation reaches it.
    try Task.checkCancellation()
    let operation = enqueueTask(
      options, isOnMain: isOnMain, fileID, line, waitedForBy: Frame.tokensOfCurrent, function)
    return try await withTaskCancellationHandler {
      do {
        return try await operation.value
      } catch let error as QueueError {
        if case .deadlock = error { operation.cancel() }
        if error == .ended(.cancelled) && Task.isCancelled { throw CancellationError() }
        throw error
      }
    } onCancel: {
      operation.cancel()
    }
  }
}
