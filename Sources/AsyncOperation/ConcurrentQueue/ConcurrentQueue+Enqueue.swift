import Inturn

extension ConcurrentQueue {
  /// Enqueues a closure that is over when it returns: the fast way, for work that needs neither a
  /// handle nor options.
  ///
  /// When the queue is closed or full, the closure is never called, which is reported. To find out,
  /// use ``tryEnqueue(_:fileID:line:)``.
  @_disfavoredOverload
  public func enqueue(_ work: @escaping @Sendable () -> Void) { enqueue(work, at: .unknown) }

  /// As ``enqueue(_:)``, which is what `queue.enqueue` alone stands for; reports name the line.
  ///
  /// - Parameters:
  ///   - work: As there.
  ///   - fileID: Where it is enqueued.
  ///   - line: The same.
  ///   - call: Leave it out: only a call states its type, so the bare method name refers to the
  ///     other overload.
  public func enqueue<Call>(
    _ work: @escaping @Sendable () -> Void,
    fileID: StaticString = #fileID, line: UInt = #line, call: Call = ()
  ) {
    enqueue(work, at: Site(fileID, line))
  }

  private func enqueue(_ work: @escaping @Sendable () -> Void, at site: Site) {
    let status = add(work, at: site)
    if status != .ok { Report.refused(queue: label, at: site, QueueError(status)) }
  }

  /// Enqueues a closure that is over when it returns, or throws `QueueError.full` or
  /// `QueueError.closed`.
  public func tryEnqueue(
    _ work: @escaping @Sendable () -> Void, fileID: StaticString = #fileID, line: UInt = #line
  ) throws(QueueError) {
    let status = add(work, at: Site(fileID, line))
    if status != .ok { throw QueueError(status) }
  }

  private func add(_ work: @escaping @Sendable () -> Void, at site: Site) -> Status {
    let context = Unmanaged.passRetained(PlainBlock(work)).toOpaque()
    let status = Engine.enqueue(
      engine.handle, at: site, work: PlainBlock.call, context: context, destroy: PlainBlock.drop)
    if status != .ok { PlainBlock.drop(context) }
    return status
  }

  /// Enqueues work that ends when its token says so.
  ///
  /// - Parameters:
  ///   - options: What it waits for, and how it is handled.
  ///   - fileID: Where it is enqueued, for reports.
  ///   - line: The same.
  ///   - work: Called once for each attempt, with a token of that attempt. It may return before the
  ///     token is used. When the last reference to the token goes away unused, the operation ends
  ///     as abandoned, and the report names the line.
  /// - Returns: The operation, which need not be kept. If the queue has refused it, it has ended as
  ///   `OperationEnd.Outcome.refused` already, which is reported.
  @_disfavoredOverload
  @discardableResult
  public func enqueue(
    _ options: OperationOptions = OperationOptions(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ work: @escaping @Sendable (FinishToken) -> Void
  ) -> QueuedOperation {
    let operation = QueuedOperation(options, work)
    operation.enqueue(on: engine, options, fileID, line)
    return operation
  }

  /// Enqueues a function that is over when it returns or throws, and that has a value.
  ///
  /// It is called on a thread of the pool, where it may block. Otherwise like
  /// ``enqueue(_:fileID:line:_:)``.
  @discardableResult
  public func enqueueFunction<Value: Sendable>(
    _ options: OperationOptions = OperationOptions(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ function: @escaping @Sendable () throws -> Value
  ) -> QueuedResult<Value> {
    let operation = QueuedResult<Value>(options) { token in
      do {
        token.finish(with: try function())
      } catch {
        token.fail(error)
      }
    }
    operation.enqueue(on: engine, options, fileID, line)
    return operation
  }

  /// Enqueues an asynchronous function, which runs in a task of its own.
  ///
  /// The operation lasts as long as the function, suspensions included. Cancelling the operation
  /// cancels the task, and so does a deadline; if the function then throws `CancellationError`, the
  /// operation ends as cancelled. The task has the caller's priority but not the caller's
  /// task-local values. Otherwise like ``enqueue(_:fileID:line:_:)``.
  @discardableResult
  public func enqueueTask<Value: Sendable>(
    _ options: OperationOptions = OperationOptions(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ function: @escaping @Sendable () async throws -> Value
  ) -> QueuedResult<Value> {
    engine.enqueueTask(options, fileID, line, function)
  }

  /// Runs an asynchronous function in its turn, and returns its value.
  ///
  ///     let page = try await queue.run { try await fetch(url) }
  ///
  /// Like ``enqueueTask(_:fileID:line:_:)``, so the function does not see the caller's task-local
  /// values; in addition, cancelling the waiting task cancels the operation. It is enqueued before
  /// the caller suspends: tasks of one actor in the order of their calls.
  ///
  /// - Throws: What the function throws; `CancellationError` when the waiting task was cancelled
  ///   before the function began or the function gave in; the `QueueError` that refused it, or
  ///   `QueueError.ended` when the operation ended otherwise than by its function;
  ///   `QueueError.deadlock` when it could never begin, because all places are taken by
  ///   operations that wait for it, or for each other.
  public nonisolated(nonsending) func run<Value: Sendable>(
    _ options: OperationOptions = OperationOptions(),
    fileID: StaticString = #fileID, line: UInt = #line,
    _ function: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await engine.run(options, fileID, line, function)
  }
}

/// A closure without options in the engine's form: the context of an operation.
private final class PlainBlock: Sendable {
  private let block: @Sendable () -> Void

  init(_ block: @escaping @Sendable () -> Void) { self.block = block }

  static let call: RawWork = { context, token in
    Unmanaged<PlainBlock>.fromOpaque(context!).takeUnretainedValue().block()
    _ = Engine.end(Handle(bits: token), as: .finished)
  }

  static let drop: RawDestroy = { Unmanaged<PlainBlock>.fromOpaque($0!).release() }
}
