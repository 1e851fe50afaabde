import InturnCore

/// Operations, of any queues, that have one end.
///
///     let pages = urls.map { url in queue.enqueueTask { try await load(url) } }
///     let batch = Batch.firstError(pages)
///     guard await batch.waitForEnd() == .finished else { return showThatItFailed() }
///
/// Its queues run them as they run any operations; the batch sees to the end. What comes after what
/// in it, the operations' `after` says. It need not be kept: it goes on without it. All members may
/// be used from any thread.
///
/// Its operations are enqueued before it, one by one: others may come between them, and some may have
/// ended by then. A suspend keeps them together, and a policy from coming late.
public final class Batch: @unchecked Sendable {
  // Safe to share: `lock` protects what changes.

  /// In the order in which they were given.
  public let operations: [QueuedOperation]

  /// Protects what follows. Nothing is called while it is held.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var decision: BatchDecision
  @exclusivity(unchecked) private var waiters: [CheckedContinuation<Void, Never>] = []

  private init(_ policy: BatchPolicy, _ operations: [QueuedOperation], enough: Int = 0) {
    self.operations = operations
    decision = BatchDecision(policy: policy, count: operations.count, enough: enough)
    for (place, operation) in operations.enumerated() {
      operation.whenEnded { self.hasEnded(place, $0) }
    }
  }

  // MARK: Policies

  /// A batch that lets all of them come to their ends. It ends as the first in the list that did not
  /// finish.
  public static func all(_ operations: [QueuedOperation]) -> Batch { Batch(.all, operations) }

  /// A batch whose rest is cancelled as soon as one ends otherwise than finished. It ends as that one.
  public static func firstError(_ operations: [QueuedOperation]) -> Batch {
    Batch(.firstError, operations)
  }

  /// A batch that finishes, however its operations end, unless ``cancel()`` has cancelled one.
  public static func collect(_ operations: [QueuedOperation]) -> Batch {
    Batch(.collect, operations)
  }

  /// A batch whose rest is cancelled as soon as so many have finished: it has finished, too. When fewer
  /// do, it ends as the first in the list that did not.
  ///
  /// - Parameters:
  ///   - count: At least one, at most all.
  ///   - operations: They may be of several queues.
  public static func enough(_ count: Int, of operations: [QueuedOperation]) -> Batch {
    precondition(
      1...max(1, operations.count) ~= count, "Enough is at least one, and at most all of a batch.")
    return Batch(.enough, operations, enough: count)
  }

  // MARK: Its course

  /// Cancels the operations that have not ended.
  public func cancel() {
    lock.withLock { decision.isCancelled = true }
    cancelRest()
  }

  /// How the batch has ended: ``OperationEnd/finished``, or as the operation that decided it; nil while
  /// some have not ended.
  public var end: OperationEnd? {
    guard lock.withLock({ decision.isOver }) else { return nil }
    guard let decidedBy else { return .finished }
    return decidedBy.end
  }

  /// The operation whose end is the batch's, as far as that is known; nil for none.
  public var decidedBy: QueuedOperation? {
    lock.withLock { decision.decidedBy }.map { operations[$0] }
  }

  /// How many have ended, of how many.
  public var progress: OperationProgress {
    OperationProgress(completed: lock.withLock { decision.ended }, total: operations.count)
  }

  /// Waits until all have ended, without blocking a thread, and says how. The wait is not affected by
  /// the cancelling of the task that waits.
  ///
  /// - Throws: ``QueueError/deadlock(_:)`` inside an operation that one of these could not end before.
  @discardableResult
  public func waitForEnd() async throws(QueueError) -> OperationEnd {
    for operation in operations { _ = try await operation.endUnlessDeadlock }
    // The last of them may still be about to tell the batch.
    await withCheckedContinuation { continuation in
      let isOver = lock.withLock {
        if !decision.isOver { waiters.append(continuation) }
        return decision.isOver
      }
      if isOver { continuation.resume() }
    }
    return end!
  }

  private func hasEnded(_ place: Int, _ end: OperationEnd) {
    let outcome: Outcome =
      switch end.outcome {
      case .finished: .finished
      case .cancelled: .cancelled
      case .failed, .timedOut, .abandoned, .refused: .failed
      }
    let (stops, waiters) = lock.withLock {
      let stops = decision.add(outcome, of: place)
      defer { if decision.isOver { self.waiters = [] } }
      return (stops, decision.isOver ? self.waiters : [])
    }
    if stops { cancelRest() }
    for waiter in waiters { waiter.resume() }
  }

  /// The last one first: one that ends by that lets none start that is not cancelled yet.
  private func cancelRest() {
    for operation in operations.reversed() { operation.cancel() }
  }
}
