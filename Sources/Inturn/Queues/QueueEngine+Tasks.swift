import InturnCore

/// Operations that are tasks.
extension QueueEngine {
  /// Enqueues an asynchronous function as a task of its own. `isOnMain`: the queue's work is called on
  /// the main thread.
  package func enqueueTask<Value: Sendable>(
    _ options: OperationOptions, isOnMain: Bool = false, _ fileID: StaticString, _ line: UInt,
    _ function: @escaping @Sendable () async throws -> Value
  ) -> QueuedResult<Value> {
    enqueueTask(options, isOnMain, fileID, line, inside: nil, callers: [], function)
  }

  /// The same, and waits for what it gives. Cancelling the task that waits cancels the operation.
  package func run<Value: Sendable>(
    _ options: OperationOptions, isOnMain: Bool = false, _ fileID: StaticString, _ line: UInt,
    _ function: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let operation = enqueueTask(
      options, isOnMain, fileID, line, inside: OperationFrame.current,
      callers: OperationFrame.bound.operations, function)
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

  /// `inside`, `callers`: where its caller, who waits for its end, is.
  private func enqueueTask<Value: Sendable>(
    _ options: OperationOptions, _ isOnMain: Bool, _ fileID: StaticString, _ line: UInt,
    inside outer: OperationFrame?, callers: [QueuedOperation],
    _ function: @escaping @Sendable () async throws -> Value
  ) -> QueuedResult<Value> {
    let priority = Task.currentPriority
    let operation = QueuedResult<Value>(options, isOnMain: isOnMain) { token in
      let task = Task.detached(priority: priority) {
        // It has not been used before.
        let operation = unsafeDowncast(token.operation!, to: QueuedOperation.self)
        let frame = OperationFrame(token, of: operation, inside: outer)
        await frame.run(callers: callers) {
          do {
            token.finish(with: try await function())
          } catch {
            if error is CancellationError && token.isCancelled {
              token.cancel()
            } else {
              token.fail(error)
            }
          }
        }
      }
      token.onCancel { _ in task.cancel() }
    }
    operation.enqueue(on: self, options, fileID, line)
    return operation
  }
}
