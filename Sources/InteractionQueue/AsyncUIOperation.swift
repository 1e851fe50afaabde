import AsyncOperation
import Dispatch
import Foundation

/// An interaction for a queue of Foundation's: an operation that is started on the main thread, a
/// while after its queue has come to it.
///
/// For programs that keep an `OperationQueue` of their own for interactions. ``InteractionQueue``
/// does not need it: there, delays respect the view, and an interaction can be more than started.
///
/// When it was cancelled by the time the delay is over, its block is not called, and it ends as
/// cancelled.
public class AsyncUIOperation: AsyncBlockOperation, @unchecked Sendable {
  // Safe to share: nothing is added that changes.

  private let delay: Duration

  /// Makes an operation whose block is called on the main thread.
  ///
  /// - Parameters:
  ///   - delay: From the operation's turn to the call of the block.
  ///   - fileID: Where the operation is made, for reports.
  ///   - line: The same.
  ///   - block: Called once at most; marks the interaction as finished with its parameter.
  public init(
    delay: Duration = .milliseconds(250), fileID: StaticString = #fileID, line: UInt = #line,
    block: @escaping @MainActor (@escaping FinishCallback) -> Void
  ) {
    precondition(delay >= .zero, "A delay must not be negative.")
    self.delay = delay
    super.init(fileID: fileID, line: line) { finish in
      MainActor.assumeIsolated { block(finish) }
    }
  }

  /// Waits for the delay, and calls the block on the main thread: for the queue, not to be called by
  /// others.
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
