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
/// In all other ways it is Foundation's queue: it can be suspended, waited for and given other
/// operations, and the operations in its lists may depend on others.
///
/// **Ownership.** Resume or cancel a suspended queue before you release it: Foundation keeps it with
/// its operations, and its lists never complete.
@preconcurrency
public final class SynchronousOperationQueue<T: Sendable>: OperationQueue, @unchecked Sendable {
  // Safe to share: `lock` protects what changes.

  /// How many operations run at a time.
  public enum QueueType: Sendable {
    /// Several. A list's operations start in order, as Foundation's priorities allow, and end in
    /// any order.
    case concurrent(maxConcurrentOperations: Int)
    /// One. An operation in a list starts when all before it have ended, regardless of their
    /// priorities and dependencies, and a list starts when the one before it has ended: what a FIFO
    /// queue guarantees. Set dependencies before the list is executed; an operation that is ready
    /// then (`isReady`) stays so. Lists that several threads pass at the same time may be
    /// interleaved.
    case nonConcurrent
  }

  /// Protects all variables below. Nothing is called while it is held.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var value: T
  /// The lists that have not completed, and how many there have been.
  @exclusivity(unchecked) private var batches: [Int: OperationBatch<T>] = [:]
  @exclusivity(unchecked) private var batchCount = 0
  /// For a non-concurrent queue: opens when the last list's operations have ended; nil if that list
  /// has no gates.
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

  /// Creates a queue that executes one operation at a time.
  public convenience init(defaultValue: T) {
    self.init(defaultValue: defaultValue, type: .nonConcurrent)
  }

  /// Creates a queue whose completions are called on the main queue.
  ///
  /// `maxConcurrentOperations` must be at least 1, or
  /// `OperationQueue.defaultMaxConcurrentOperationCount`; any other number stops the
  /// program, as nothing would ever start.
  public required convenience init(defaultValue: T, type: QueueType) {
    self.init(defaultValue: defaultValue, type: type, completionQueue: .main)
  }

  /// Creates a queue whose completions are called on a dispatch queue.
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
    require(
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
  /// For a non-concurrent queue it is always 1: setting it has no effect.
  public override var maxConcurrentOperationCount: Int {
    get { super.maxConcurrentOperationCount }
    set { if !isOrdered { super.maxConcurrentOperationCount = newValue } }
  }

  /// Executes a list of operations and calls a completion once.
  ///
  /// The completion is called with
  /// - the value that was reported last, when all operations have ended, in whatever order they
  ///   ended;
  /// - the first error that an operation reports or fails with, at once; the rest of this list is
  ///   cancelled, other lists are not affected. An operation that is abandoned, timed out or refused
  ///   fails its list with `QueueError.ended`, one in a ring of dependencies with
  ///   `QueueError.deadlock`;
  /// - a `CancellationError`, at once, when `cancelAllOperations()` is called;
  /// - `SynchronousOperationQueueError.neverExecuted`, when all have ended and none has reported a
  ///   value: each was cancelled individually, or finished without a report. If others have
  ///   reported values, such operations are left out;
  /// - the present `defaultValue`, for an empty list, which takes its turn like others.
  ///
  /// An operation's first report counts. Operations must be new: one that was started, or is in a
  /// list or a queue already, stops the program.
  ///
  /// **Threads.** The completion is called on the main queue, or on the queue that was passed to
  /// the initialiser; never inside this call, unless that queue runs on another thread meanwhile.
  /// On a non-concurrent queue, the completions of successful lists are called in the order of the
  /// lists; a list may start before the completion of the one before it is called.
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

  /// Begins a list and returns it; nil for an empty list on a concurrent queue, whose completion is
  /// called before this returns.
  @discardableResult
  func begin(
    _ operations: [AsyncOperationWithCompletion<T>], each: (@Sendable (T) -> Void)? = nil,
    completion: @escaping @Sendable (Result<T, any Error>) -> Void
  ) -> OperationBatch<T>? {
    if operations.isEmpty { return beginEmpty(completion) }
    // Foundation starts ready operations with the same priority in the order in which they were
    // added, each when the one before it has ended. It passes over those that are not ready.
    let isAnyLate = isOrdered && operations.contains { !$0.isReady }
    let lastOfList = isOrdered ? OrderGate(after: operations[operations.count - 1]) : nil
    var previous: OrderGate?
    let (number, end) = lock.withLock {
      batchCount += 1
      swap(&previous, &lastGate)
      let isHeldUp = previous.map { !$0.isFinished } ?? false
      if isAnyLate || isHeldUp { lastGate = lastOfList }
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
    // Includes those that were cancelled meanwhile: an operation ends when its queue starts it.
    addOperations(operations, waitUntilFinished: false)
    return batch
  }

  /// An empty list completes when those before it have, if lists have an order.
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
