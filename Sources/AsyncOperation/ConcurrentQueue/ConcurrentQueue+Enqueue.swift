import InturnCore

extension ConcurrentQueue {
  /// Enqueues a closure that is over when it returns: the fast way, for work that needs neither a
  /// handle nor options.
  ///
  /// - Returns: Whether the queue has accepted it; false when it is closed or full. Then it is
  ///   never called.
  @discardableResult
  public func enqueue(_ block: @escaping @Sendable () -> Void) -> Bool {
    let context = Unmanaged.passRetained(PlainBlock(block)).toOpaque()
    if Engine.enqueue(handle, work: PlainBlock.call, context: context, destroy: PlainBlock.drop)
      == .ok
    {
      return true
    }
    PlainBlock.drop(context)
    return false
  }

  /// Enqueues work that ends when its token says so.
  ///
  /// - Parameters:
  ///   - options: What it waits for, and how it is dealt with.
  ///   - fileID: Where it is enqueued, for reports.
  ///   - line: The same.
  ///   - work: Called once for each attempt, with a token of that attempt. It may return before the
  ///     token is used. When the last reference to the token goes away unused, the operation ends
  ///     as abandoned, and the report names the line.
  /// - Returns: The operation, which need not be kept. When the queue has not accepted it, it has
  ///   ended as cancelled already.
  @discardableResult
  public func enqueue(
    _ options: ConcurrentOperationOptions = ConcurrentOperationOptions(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ work: @escaping @Sendable (ConcurrentToken) -> Void
  ) -> ConcurrentOperation {
    let operation = ConcurrentOperation(options, work)
    operation.enqueue(on: handle, options, fileID, line)
    return operation
  }

  /// Enqueues a function that is over when it returns or throws, and whose value others wait for.
  ///
  /// It is called on a thread of the pool, where it may block. Otherwise as
  /// ``enqueue(_:fileID:line:_:)``.
  @discardableResult
  public func enqueueFunction<Value: Sendable>(
    _ options: ConcurrentOperationOptions = ConcurrentOperationOptions(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ function: @escaping @Sendable () throws -> Value
  ) -> ConcurrentResultOperation<Value> {
    let operation = ConcurrentResultOperation<Value>(options) { token in
      do {
        token.finish(with: ValueBox(try function()))
      } catch {
        token.fail(error)
      }
    }
    operation.enqueue(on: handle, options, fileID, line)
    return operation
  }

  /// Enqueues an asynchronous function that runs as a task of its own.
  ///
  /// The operation lasts as long as the function, suspensions included. Cancelling the operation
  /// cancels the task, and so does a deadline; when the function throws `CancellationError` then,
  /// the operation ends as cancelled. The task has the caller's priority; it does not see the
  /// caller's task-local values. Otherwise as ``enqueue(_:fileID:line:_:)``.
  @discardableResult
  public func enqueueTask<Value: Sendable>(
    _ options: ConcurrentOperationOptions = ConcurrentOperationOptions(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ function: @escaping @Sendable () async throws -> Value
  ) -> ConcurrentResultOperation<Value> {
    enqueueTask(options, fileID, line, function)
  }

  /// Runs an asynchronous function in its turn, and gives what it gives.
  ///
  ///     let page = try await queue.run { try await fetch(url) }
  ///
  /// As ``enqueueTask(_:fileID:line:_:)``; and cancelling the task that waits cancels the operation.
  ///
  /// - Throws: What the function throws; `CancellationError` when the waiting task was cancelled
  ///   before the function began or the function gave in; ``ConcurrentOperationError`` when the
  ///   operation ended otherwise than by its function; ``DeadlockError`` when it could never begin,
  ///   because all places are taken by operations that wait for it, or for each other.
  public func run<Value: Sendable>(
    _ options: ConcurrentOperationOptions = ConcurrentOperationOptions(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ function: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let operation = enqueueTask(
      options, fileID, line, inside: ConcurrentFrame.current,
      callers: ConcurrentFrame.bound.operations, function)
    return try await withTaskCancellationHandler {
      do {
        return try await operation.value
      } catch let error as DeadlockError {
        operation.cancel()
        throw error
      } catch let error as ConcurrentOperationError {
        if case .cancelled(.request) = error.end, Task.isCancelled { throw CancellationError() }
        throw error
      }
    } onCancel: {
      operation.cancel()
    }
  }

  /// `inside`, `callers`: where its caller, who waits for its end, is.
  private func enqueueTask<Value: Sendable>(
    _ options: ConcurrentOperationOptions, _ fileID: StaticString, _ line: UInt,
    inside outer: ConcurrentFrame? = nil, callers: [ConcurrentOperation] = [],
    _ function: @escaping @Sendable () async throws -> Value
  ) -> ConcurrentResultOperation<Value> {
    let priority = Task.currentPriority
    let operation = ConcurrentResultOperation<Value>(options) { token in
      let task = Task.detached(priority: priority) {
        let frame = ConcurrentFrame(of: token.operation, inside: outer)
        await frame.run(callers: callers) {
          do {
            token.finish(with: ValueBox(try await function()))
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
    operation.enqueue(on: handle, options, fileID, line)
    return operation
  }
}

/// A closure without options as the engine has it: the context of an operation.
private final class PlainBlock: Sendable {
  private let block: @Sendable () -> Void

  init(_ block: @escaping @Sendable () -> Void) { self.block = block }

  static let call: RawWork = { context, token in
    Unmanaged<PlainBlock>.fromOpaque(context!).takeUnretainedValue().block()
    _ = Engine.end(Handle(bits: token), as: .finished)
  }

  static let drop: RawDestroy = { Unmanaged<PlainBlock>.fromOpaque($0!).release() }
}
