import Foundation
import Inturn

/// An operation that reports a value or an error to a completion before it finishes.
///
/// Its `main()` calls `completion` and then `finish()`, when the work is done:
///
///     override func main() {
///       api.removeFromBag(item: itemID) { [weak self] (updatedBag, error) in
///         self?.completion?(updatedBag, error)
///         self?.finish()
///       }
///     }
@preconcurrency
open class AsyncOperationWithCompletion<T: Sendable>: AsyncOperation, @unchecked Sendable {
  // Safe to share: `lock` protects what changes.

  private typealias Completion = @Sendable (T?, (any Error)?) -> Void

  private let lock = BriefLock()
  @exclusivity(unchecked) private var ownCompletion: Completion?
  /// The list that the operation is in, and its index there.
  @exclusivity(unchecked) private var place: (batch: OperationBatch<T>, index: Int)?
  /// Whether the list, rather than its priority, decides when the operation starts.
  @exclusivity(unchecked) private var isOrdered = false

  public override init() { super.init() }

  /// What the operation's work calls with its value or its error. If it gets both, the error
  /// counts.
  ///
  /// While the operation is in a list of a `SynchronousOperationQueue`, each call tells the list,
  /// where only the first call counts, and then calls the function that was set here. Nil when
  /// there is neither.
  @preconcurrency
  public final var completion: (@Sendable (T?, (any Error)?) -> Void)? {
    get {
      var own: Completion?
      var place: (batch: OperationBatch<T>, index: Int)?
      lock.withLock {
        own = ownCompletion
        place = self.place
      }
      guard let place else { return own }
      return { [own] value, error in
        place.batch.report(place.index, value, error)
        own?(value, error)
      }
    }
    set {
      var old = newValue
      lock.withLock { swap(&old, &ownCompletion) }
      withExtendedLifetime(old) {}
    }
  }

  /// How early the operation starts, compared to others in its queue.
  ///
  /// In a list of a non-concurrent queue, it is always `normal`: the list's order counts.
  open override var queuePriority: QueuePriority {
    get { super.queuePriority }
    set { if !lock.withLock({ isOrdered }) { super.queuePriority = newValue } }
  }

  /// Makes the operation a member of a list. False when it is in one already.
  func enter(_ batch: OperationBatch<T>, _ index: Int, isOrdered: Bool) -> Bool {
    let isFirst = lock.withLock {
      if place != nil || self.isOrdered { return false }
      place = (batch, index)
      self.isOrdered = isOrdered
      return true
    }
    if isFirst && isOrdered { super.queuePriority = .normal }
    return isFirst
  }

  /// The operation has ended: its reports are no longer needed.
  func leaveBatch() {
    var old: (batch: OperationBatch<T>, index: Int)?
    lock.withLock { swap(&old, &place) }
    withExtendedLifetime(old) {}
  }
}
