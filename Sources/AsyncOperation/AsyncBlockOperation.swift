import Foundation
import Inturn

/// An operation whose work is a closure.
///
///     let operation = AsyncBlockOperation { markOperationAsFinished in
///       startUpload { markOperationAsFinished() }
///     }
///     queue.addOperation(operation)
///
/// The closure, and everything that it has captured, is released when the operation has called it
/// or has ended, not when the operation is deallocated.
///
/// If a finish callback, token or task goes away without ending the operation, it ends as
/// *abandoned*, and the report names the file and line that created the operation.
open class AsyncBlockOperation: AsyncOperation, @unchecked Sendable {
  // Safe to share: `work` has its own lock.

  /// Ends the operation, from any thread. Calls after the first have no effect.
  public typealias FinishCallback = @Sendable () -> Void

  /// Work that calls its parameter when it is done, at once or later.
  public typealias Block = (@escaping FinishCallback) -> Void

  private let work: OneTimeWork

  /// Creates an operation that ends when its finish callback is called.
  ///
  /// - Parameters:
  ///   - fileID: Where the operation is created, for reports.
  ///   - line: The same.
  ///   - block: Called once at most, on a thread of the queue.
  public init(
    fileID: StaticString = #fileID, line: UInt = #line, block: sending @escaping Block
  ) {
    work = OneTimeWork { token in block { token.finish() } }
    super.init()
    setOrigin(fileID: fileID, line: line)
  }

  /// Creates an operation whose work gets its token: it can fail, give in, and find out that it is
  /// cancelled.
  ///
  /// - Parameters:
  ///   - fileID: Where the operation is created, for reports.
  ///   - line: The same.
  ///   - work: Called once at most, on a thread of the queue.
  @_disfavoredOverload
  public init(
    fileID: StaticString = #fileID, line: UInt = #line,
    withToken work: sending @escaping (FinishToken) -> Void
  ) {
    self.work = OneTimeWork(work)
    super.init()
    setOrigin(fileID: fileID, line: line)
  }

  /// Creates an operation whose work is an asynchronous function, run as a task, which has no
  /// task-local values of its creator.
  ///
  /// Cancelling the operation cancels the task. The operation ends as finished when the function
  /// returns, and as failed when it throws; if it throws `CancellationError` after a cancel, the
  /// operation ends as cancelled.
  ///
  /// - Parameters:
  ///   - fileID: Where the operation is created, for reports.
  ///   - line: The same.
  ///   - priority: The task's; nil for one that matches the operation's quality of service.
  ///   - body: Called once at most.
  public init(
    fileID: StaticString = #fileID, line: UInt = #line, priority: TaskPriority? = nil,
    body: @escaping @Sendable () async throws -> Void
  ) {
    work = OneTimeWork { $0.runTask(priority: priority, body) }
    super.init()
    setOrigin(fileID: fileID, line: line)
  }

  /// Calls the closure. A subclass that overrides this calls `super.main()`.
  open override func main() { work.call(with: self) }

  override func letGoOfWork() { work.letGo() }
}
