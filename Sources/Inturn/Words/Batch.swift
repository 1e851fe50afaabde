import InturnCore

/// Operations, of any queues, that have one end.
///
///     let pages = urls.map { url in queue.enqueueTask { try await load(url) } }
///     let batch = Batch.firstError(pages)
///     guard try await batch.waitForEnd() == .finished else { return showThatItFailed() }
///
/// The queues run the operations like any others; the batch takes care of the end. Dependencies
/// within it are set by the operations' `after`. The batch need not be kept: it goes on by itself.
/// All members may be used from any thread.
///
/// Its operations are enqueued before the batch is created, one by one: others may come between
/// them, and some may have ended by then. To keep them together, or to make the policy apply from
/// the start, suspend the queue meanwhile. The batch is told of each end like any other caller: in a
/// concurrent queue, what comes next may start before it is cancelled.
public final class Batch: @unchecked Sendable {
  // Safe to share: `lock` protects what changes.

  /// The operations, in the order in which they were given.
  public let operations: [QueuedOperation]

  /// What snapshots tell of it, and the decision.
  private let told: InturnCore.Batch
  /// Protects everything below. No function is called while it is held.
  private let lock = BriefLock()
  /// Set when no snapshot tells it any more.
  @exclusivity(unchecked) private var isOver: Bool
  @exclusivity(unchecked) private var waiters: [CheckedContinuation<Void, Never>] = []

  private init(_ policy: BatchPolicy, _ operations: [QueuedOperation], enough: Int = 0) {
    self.operations = operations
    isOver = operations.isEmpty
    let queue = operations.first?.queue
    told = Engine.addBatch(
      policy, enough: enough, count: operations.count,
      queue: operations.allSatisfy { $0.queue == queue } ? queue : nil)
    for (place, operation) in operations.enumerated() {
      operation.whenEnded { self.hasEnded(place, $0) }
    }
  }

  // MARK: Policies

  /// A batch that lets all its operations come to their ends. It ends like the first one in the
  /// list that did not finish.
  public static func all(_ operations: [QueuedOperation]) -> Batch { Batch(.all, operations) }

  /// A batch that cancels the rest as soon as an operation ends otherwise than finished. It ends
  /// like that operation.
  public static func firstError(_ operations: [QueuedOperation]) -> Batch {
    Batch(.firstError, operations)
  }

  /// A batch that finishes, however its operations end, unless ``cancel()`` has cancelled one.
  public static func collect(_ operations: [QueuedOperation]) -> Batch {
    Batch(.collect, operations)
  }

  /// A batch that cancels the rest and finishes as soon as `count` operations have finished. When
  /// fewer do, it ends like the first one in the list that did not.
  ///
  /// - Parameters:
  ///   - count: At least one, at most all.
  ///   - operations: They may be of several queues.
  public static func enough(_ count: Int, of operations: [QueuedOperation]) -> Batch {
    require(
      1...max(1, operations.count) ~= count, "Enough is at least one, and at most all of a batch.")
    return Batch(.enough, operations, enough: count)
  }

  // MARK: Its course

  /// Cancels the operations that have not ended.
  public func cancel() {
    told.withDecision { $0.isCancelled = true }
    cancelRest()
  }

  /// How the batch has ended: ``OperationEnd/finished``, or like the operation that decided it; nil
  /// while some operations have not ended.
  public var end: OperationEnd? {
    guard lock.withLock({ isOver }) else { return nil }
    guard let decidedBy else { return .finished }
    return decidedBy.end
  }

  /// The operation whose end is the batch's, as far as is known yet; nil for none.
  public var decidedBy: QueuedOperation? {
    told.withDecision { $0.decidedBy }.map { operations[$0] }
  }

  /// How many operations have ended, out of how many.
  public var progress: OperationProgress {
    OperationProgress(completed: told.ended, total: operations.count)
  }

  /// Waits until all operations have ended, without blocking a thread, and returns how. Cancelling
  /// the waiting task does not end the wait.
  ///
  /// - Throws: ``QueueError/deadlock(_:)`` inside an operation that has to end before one of these
  ///   can.
  @_disfavoredOverload @discardableResult
  public func waitForEnd() async throws(QueueError) -> OperationEnd {
    try await waitForEnd(at: .unknown)
  }

  /// As ``waitForEnd()``; reports name the line.
  ///
  /// - Parameters:
  ///   - fileID: Where it waits.
  ///   - line: The same.
  ///   - call: Leave it out: only a call states its type, so the bare method name refers to the
  ///     other overload.
  @discardableResult
  public func waitForEnd<Call>(
    fileID: StaticString = #fileID, line: UInt = #line, call: Call = ()
  ) async throws(QueueError) -> OperationEnd { try await waitForEnd(at: Site(fileID, line)) }

  private func waitForEnd(at site: Site) async throws(QueueError) -> OperationEnd {
    for operation in operations { _ = try await operation.endUnlessDeadlock(at: site) }
    // The last operation may still be about to tell the batch.
    await withCheckedContinuation { continuation in
      let isOver = lock.withLock {
        if !self.isOver { waiters.append(continuation) }
        return self.isOver
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
    let (stops, isLast) = told.withDecision { ($0.add(outcome, of: place), $0.isOver) }
    if stops { cancelRest() }
    if !isLast { return }
    Engine.remove(told)
    let waiters = lock.withLock {
      isOver = true
      defer { self.waiters = [] }
      return self.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// In reverse order, so that no end allows an operation to start that is not cancelled yet.
  private func cancelRest() {
    for operation in operations.reversed() { operation.cancel() }
  }
}
