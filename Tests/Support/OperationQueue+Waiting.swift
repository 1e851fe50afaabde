import Foundation

extension OperationQueue {
  /// Whether all of the queue's operations finish within the limit.
  package func finishesInTime() async -> Bool {
    let signal = Signal()
    Thread.detachNewThread {
      self.waitUntilAllOperationsAreFinished()
      signal.raise()
    }
    return await signal.wait()
  }
}
