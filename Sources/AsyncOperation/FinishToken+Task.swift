import Foundation

extension FinishToken {
  /// Runs a body as a task of the operation's, cancelled with it. What it returns ends the
  /// operation.
  func runTask(
    priority: TaskPriority?,
    _ body: @escaping @Sendable () async throws -> (@Sendable (FinishToken) -> Void)
  ) {
    let task = Task.detached(priority: priority ?? taskPriority) { [self] in
      do {
        try await body()(self)
      } catch {
        if error is CancellationError && isCancelled { cancel() } else { fail(error) }
      }
    }
    onCancel { _ in task.cancel() }
  }

  private var taskPriority: TaskPriority? {
    switch qualityOfService {
    case .userInteractive, .userInitiated: .high
    case .utility: .utility
    case .background: .background
    default: nil
    }
  }
}
