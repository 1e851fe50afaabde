import Foundation
import Inturn

/// An operation that ends with a result.
///
///     let download = AsyncResultOperation<Data, any Error> { try await fetch(url) }
///     let parse = AsyncResultOperation<Page, any Error> { try await Page(download.get()) }
///     parse.addDependency(download)
open class AsyncResultOperation<Success: Sendable, Failure: Error>: AsyncOperation,
  @unchecked Sendable
{
  // Safe to share: `work` has its own lock.

  private let work: OneTimeWork?

  /// Creates an operation without work of its own: for subclasses, whose `main()` calls
  /// `finish(with:)` in the end.
  public override init() {
    work = nil
    super.init()
  }

  /// Creates an operation that ends with the result that its callback is called with.
  ///
  /// If the callback goes away uncalled, the operation ends as abandoned.
  ///
  /// - Parameters:
  ///   - fileID: Where the operation is created, for reports.
  ///   - line: The same.
  ///   - block: Called once at most, on a thread of the queue.
  public init(
    fileID: StaticString = #fileID, line: UInt = #line,
    block: sending @escaping (@escaping @Sendable (Result<Success, Failure>) -> Void) -> Void
  ) {
    work = OneTimeWork { token in block { token.finish(with: $0) } }
    super.init()
    setOrigin(fileID: fileID, line: line)
  }

  /// Creates an operation that ends with what an asynchronous function returns or throws.
  ///
  /// The function runs as a task, which is cancelled with the operation and has no task-local
  /// values of its creator. If it then throws `CancellationError`, the operation ends as cancelled.
  ///
  /// - Parameters:
  ///   - fileID: Where the operation is created, for reports.
  ///   - line: The same.
  ///   - priority: The task's; nil for one that matches the operation's quality of service.
  ///   - body: Called once at most.
  public init(
    fileID: StaticString = #fileID, line: UInt = #line, priority: TaskPriority? = nil,
    body: @escaping @Sendable () async throws(Failure) -> Success
  ) {
    work = OneTimeWork { $0.runTask(priority: priority, body) }
    super.init()
    setOrigin(fileID: fileID, line: line)
  }

  /// Calls the work. A subclass with its own work overrides this and does not call `super.main()`.
  open override func main() { work?.call(with: self) }

  override func letGoOfWork() { work?.letGo() }

  /// Ends the operation with a result. False when it has an end already; the result is then lost.
  @discardableResult
  public final func finish(with result: Result<Success, Failure>) -> Bool {
    switch result {
    case .success(let value): conclude(as: .finished, box: ValueBox(value))
    case .failure(let error): conclude(as: .failed(error))
    }
  }

  /// The operation's result; nil while it has not ended, and if it ended without a result: `get()`
  /// tells the two apart.
  public final var result: Result<Success, Failure>? {
    if let error = end?.error { return (error as? Failure).map { .failure($0) } }
    return (storage.endBox as? ValueBox<Success>).map { .success($0.value) }
  }

  /// The value that the operation ended with.
  ///
  /// - Throws: Its failure; `QueueError.noValue` when it has not ended or has finished without one,
  ///   `QueueError.ended` when it ended otherwise.
  public final func get() throws -> Success {
    if let error = end?.error { throw error }
    if let end, !end.isFinished { throw QueueError.ended(end) }
    guard let box = storage.endBox as? ValueBox<Success> else { throw QueueError.noValue }
    return box.value
  }

  /// The value that the operation ends with; waits for it.
  ///
  /// Cancelling the waiting task does not end the wait.
  ///
  /// - Throws: As ``get()``.
  public final var value: Success {
    get async throws {
      _ = await waitForEnd()
      return try get()
    }
  }
}

extension FinishToken {
  fileprivate func finish<Success: Sendable, Failure: Error>(with result: Result<Success, Failure>)
  {
    switch result {
    case .success(let value): finish(with: value)
    case .failure(let error): fail(error)
    }
  }
}
