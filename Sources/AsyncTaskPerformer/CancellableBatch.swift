import Inturn

/// A list that may be cancelled before it exists.
final class CancellableBatch<T: Sendable>: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  private let lock = BriefLock()
  @exclusivity(unchecked) private var batch: OperationBatch<T>?
  @exclusivity(unchecked) private var isCancelled = false

  func set(_ batch: OperationBatch<T>?) {
    let isCancelled = lock.withLock {
      self.batch = batch
      return self.isCancelled
    }
    if isCancelled { batch?.fail(CancellationError()) }
  }

  func cancel() {
    let batch = lock.withLock {
      isCancelled = true
      return self.batch
    }
    batch?.fail(CancellationError())
  }
}
