import Foundation
import Inturn

extension FinishToken {
  /// Runs a body as the operation's task, which is cancelled with it. The operation ends with what
  /// the body returns or throws.
  func runTask<Value: Sendable>(
    priority: TaskPriority?, _ body: @escaping @Sendable () async throws -> Value
  ) {
    let task = Task.detached(priority: priority ?? taskPriority) { await self.finish(by: body) }
    onCancel { _ in task.cancel() }
  }

  private var taskPriority: TaskPriority? {
    switch (operation as? Operation)?.qualityOfService {
    case .userInteractive, .userInitiated: .high
    case .utility: .utility
    case .background: .background
    default: nil
    }
  }
}
