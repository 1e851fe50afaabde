import Foundation
import Inturn

/// An operation queue that executes lists of operations, each list with a single completion.
///
/// The first error cancels the rest of its list, and the completion is called with it at once.
///
///     let queue = SynchronousOperationQueue(defaultValue: bag)
///     queue.executeOperations(itemsToRemove.map { RemoveItem($0, api: api) }) { bag, error in
///       …
///     }
///
/// It is Foundation's queue in everything else: it can be suspended, waited for, given other
/// operations, and its lists' operations may depend on others.
@preconcurrency
public final class SynchronousOperationQueue<T: Sendable>: OperationQueue, @unchecked Sendable {
  // Safe to share: `lock` protects what changes.

  /// How many operations run at a time.
  public enum QueueType: Sendable {
    /// Several. Operations of a list start in its order, as Foundation's priorities allow, and end
    /// in any.
    case concurrent(maxConcurrentOperations: Int)
    /// One. An operation of a list starts when all before it have ended, whatever their priorities
    /// and their dependencies, and a list when the one before it has: what a FIFO queue guarantees.
    /// Dependencies are to be set before the list is executed. Lists that several threads give at
    /// the same time may take turns.
    case nonConcurrent
  }

  /// Protects everything below that is a variable. Nothing is called while it is held.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var value: T
  /// The lists that have not completed, and how many there have been.
  @exclusivity(unchecked) private var batches: [Int: OperationBatch<T>] = [:]
  @exclusivity(unchecked) private var batchCount = 0
  /// Of a queue that is not concurrent: opens when the last list's operations have ended; nil where
  /// that list has no gates.
  @exclusivity(unchecked) private var lastGate: OrderGate?

  private let isOrdered: Bool
  private let completionOrder = CompletionOrder()
  private let completionQueue: DispatchQueue

  /// The value that an empty list completes with.
  public var defaultValue: T {
    get { lock.withLock { value } }
    set {
      var old = newValue
      lock.withLock { swap(&old, &value) }
      withExtendedLifetime(old) {}
    }
  }

  /// Makes a queue that executes one operation at a time.
  public convenience init(defaultValue: T) {
    self.init(defaultValue: defaultValue, type: .nonConcurrent)
  }

  /// Makes a queue whose completions are called on the main queue.
  ///
  /// `maxConcurrentOperations` is at least 1, or
  /// `OperationQueue.defaultMaxConcurrentOperationCount`; another number is a failed precondition,
  /// as nothing would ever start.
  public required convenience init(defaultValue: T, type: QueueType) {
    self.init(defaultValue: defaultValue, type: type, completionQueue: .main)
  }

  /// Makes a queue whose completions are called on a dispatch queue.
  public init(defaultValue: T, type: QueueType, completionQueue: DispatchQueue) {
    value = defaultValue
    self.completionQueue = completionQueue
    var count = 1
    switch type {
    case .nonConcurrent: isOrdered = true
    case .concurrent(let maximum):
      isOrdered = false
      count = maximum
    }
    precondition(
      count >= 1 || count == OperationQueue.defaultMaxConcurrentOperationCount,
      """
      SynchronousOperationQueue: maxConcurrentOperations must be at least 1, not \(count), \
      or nothing would ever start
      """)
    super.init()
    super.maxConcurrentOperationCount = count
  }

  /// How many operations run at a time.
  ///
  /// Of a queue that is not concurrent it is always 1: setting it has no effect.
  public override var maxConcurrentOperationCount: Int {
    get { super.maxConcurrentOperationCount }
    set { if !isOrdered { super.maxConcurrentOperationCount = newValue } }
  }

  /// Executes a list of operations and calls a completion once.
  ///
  /// The completion gets
  /// - the value that was reported last, when all operations have ended: of the operation that
  ///   ended last among those which reported one;
  /// - the first error that an operation reports, or fails with, at once; the rest of this list is
  ///   cancelled, other lists are not touched. An operation whose token was lost fails its list
  ///   with `QueueError.ended`, one in a ring of dependencies with `QueueError.deadlock`;
  /// - a `CancellationError`, at once, when `cancelAllOperations()` is called;
  /// - `SynchronousOperationQueueError.neverExecuted`, when all have ended and none has reported a
  ///   value: each was cancelled by itself, or finished without a report. One of several of which
  ///   that is true is left out;
  /// - the `defaultValue` of now for an empty list, which takes its turn like others.
  ///
  /// An operation's first report counts. Each operation is new: one that was started, or is in a
  /// list or a queue already, is a failed precondition.
  ///
  /// **Threads.** The completion is called on the main queue, or on that which the queue was made
  /// with; never inside this call, unless that goes on on another thread meanwhile. Of a queue that
  /// is not concurrent, those of lists that succeed come in the order of the lists; a list may start
  /// before the completion of the one before it is called.
  @preconcurrency
  public func executeOperations(
    _ operations: [AsyncOperationWithCompletion<T>],
    completion: @escaping @Sendable (T?, (any Error)?) -> Void
  ) {
    let completionQueue = completionQueue
    begin(operations) { result in
      completionQueue.async {
        switch result {
        case .success(let value): completion(value, nil)
        case .failure(let error): completion(nil, error)
        }
      }
    }
  }

  /// Cancels all operations.
  ///
  /// The completions of all lists that have not completed are called with a `CancellationError`, in
  /// any order. No operation that waits in a list will call its work.
  public override func cancelAllOperations() {
    // The last list first, so that none starts because one before it ends.
    let latest = lock.withLock { batches }.sorted { $0.key > $1.key }
    for (_, batch) in latest { batch.fail(CancellationError()) }
    super.cancelAllOperations()
  }

  /// Begins a list, and says which; nil for an empty one of a concurrent queue, whose completion is
  /// called before this returns.
  @discardableResult
  func begin(
    _ operations: [AsyncOperationWithCompletion<T>], each: (@Sendable (T) -> Void)? = nil,
    completion: @escaping @Sendable (Result<T, any Error>) -> Void
  ) -> OperationBatch<T>? {
    if operations.isEmpty { return beginEmpty(completion) }
    // Foundation starts operations of one priority that are ready in the order in which they were
    // added, one when the one before it has ended. Those that are not ready it passes over.
    let hasDependencies = isOrdered && operations.contains { !$0.dependencies.isEmpty }
    let lastOfList = isOrdered ? OrderGate(after: operations[operations.count - 1]) : nil
    var previous: OrderGate?
    let (number, end) = lock.withLock {
      batchCount += 1
      swap(&previous, &lastGate)
      let isHeldUp = previous.map { !$0.isFinished } ?? false
      if hasDependencies || isHeldUp { lastGate = lastOfList }
      return (batchCount, lastGate)
    }
    let batch = OperationBatch(operations, isOrdered: isOrdered, lastGate: end, each: each) {
      [weak self, isOrdered, completionOrder] result in
      self?.forget(number)
      guard isOrdered else { return completion(result) }
      var isSuccess = false
      if case .success = result { isSuccess = true }
      completionOrder.complete(number, isSuccess: isSuccess) { completion(result) }
    }
    lock.withLock { batches[number] = batch }
    batch.begin(after: previous)
    // Also those that have been cancelled meanwhile: an operation ends when its queue starts it.
    addOperations(operations, waitUntilFinished: false)
    return batch
  }

  /// A list of nothing completes when those before it have, where lists have an order.
  private func beginEmpty(
    _ completion: @escaping @Sendable (Result<T, any Error>) -> Void
  ) -> OperationBatch<T>? {
    let value = defaultValue
    if !isOrdered {
      completion(.success(value))
      return nil
    }
    let batch = OperationBatch(
      [], isOrdered: true, lastGate: nil, completion: completion)
    let number = lock.withLock {
      batchCount += 1
      batches[batchCount] = batch
      return batchCount
    }
    completionOrder.complete(number, isSuccess: true) { [weak self] in
      self?.forget(number)
      batch.complete(with: value)
    }
    return batch
  }

  private func forget(_ number: Int) {
    let batch = lock.withLock { batches.removeValue(forKey: number) }
    withExtendedLifetime(batch) {}
  }
}
