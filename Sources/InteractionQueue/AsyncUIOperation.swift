import AsyncOperation
import Dispatch
import Foundation

/// An interaction for one of Foundation's queues: an operation that is started on the main thread,
/// some time after its turn has come.
///
/// For programs that use their own `OperationQueue` for interactions. ``InteractionQueue`` does not
/// need it: there, delays take the view into account, and interactions have more options.
///
/// If it was cancelled by the end of the delay, its block is not called, and it ends as cancelled.
public class AsyncUIOperation: AsyncBlockOperation, @unchecked Sendable {
  // Safe to share: it adds nothing that changes.

  private let delay: Duration

  /// Creates an operation whose block is called on the main thread.
  ///
  /// - Parameters:
  ///   - delay: From the operation's turn to the call of the block.
  ///   - fileID: Where the operation is created, for reports.
  ///   - line: The same.
  ///   - block: Called once at most; marks the interaction as finished with its parameter.
  public init(
    delay: Duration = .milliseconds(250), fileID: StaticString = #fileID, line: UInt = #line,
    block: @escaping @MainActor (@escaping FinishCallback) -> Void
  ) {
    require(delay >= .zero, "A delay must not be negative.")
    self.delay = delay
    super.init(fileID: fileID, line: line) { finish in
      MainActor.assumeIsolated { block(finish) }
    }
  }

  /// Waits for the delay, and calls the block on the main thread. Only for the queue to call.
  public override func main() {
    let time = DispatchTime.now() + .nanoseconds(Int(delay.inNanoseconds))
    DispatchQueue.main.asyncAfter(deadline: time) {
      OperationQueue.main.addOperation { self.present() }
    }
  }

  private func present() {
    if isCancelled { end(as: .cancelled) } else { super.main() }
  }
}
