import InturnCore

/// The observable states of a queue. Each exists from the first time that it is asked for, and as
/// long as this object or its holder keeps it.
///
/// While none of a queue's states exists, its operations cost only a few more tests of a flag.
/// While one exists, each operation is started under the queue's lock.
public final class QueueStates: Sendable {
  private struct Made: Sendable {
    var pendingCount: ObservedState<Int>?
    var runningCount: ObservedState<Int>?
    var isSuspended: ObservedState<Bool>?
    var progress: ObservedState<OperationProgress>?
    var nextStart: ObservedState<Duration?>?
  }

  private let queue: Handle
  private let made = Locked(Made())

  package init(queue: Handle) { self.queue = queue }

  /// How many operations are accepted and have neither started nor ended.
  public var pendingCount: ObservedState<Int> { state(\.pendingCount, .pending, 0, Self.number) }

  /// How many operations have started and not ended. An operation has ended only when its work has
  /// returned as well.
  public var runningCount: ObservedState<Int> { state(\.runningCount, .running, 0, Self.number) }

  /// Whether at least one suspend is in force.
  public var isSuspended: ObservedState<Bool> {
    state(\.isSuspended, .suspended, false) {
      guard case .boolean(let truth) = $0 else { return false }
      return truth
    }
  }

  /// How many operations have ended, of all that were ever accepted.
  public var progress: ObservedState<OperationProgress> {
    state(\.progress, .progress, OperationProgress()) {
      guard case .progress(let progress) = $0 else { return OperationProgress() }
      return OperationProgress(progress)
    }
  }

  /// The moment of the queue's clock before which its delays or its rate allow no start; nil when
  /// none is known.
  public var nextStart: ObservedState<Duration?> {
    state(\.nextStart, .nextStart, nil) {
      guard case .integer(let moment) = $0, moment != 0 else { return nil }
      return .nanoseconds(moment)
    }
  }

  private static func number(_ state: RawValue) -> Int {
    guard case .integer(let number) = state else { return 0 }
    return Int(number)
  }

  private func state<T: Sendable>(
    _ place: WritableKeyPath<Made, ObservedState<T>?>, _ aspect: QueueAspect, _ first: T,
    _ convert: @escaping @Sendable (RawValue) -> T
  ) -> ObservedState<T> {
    if let state = made.withLock({ $0[keyPath: place] }) { return state }
    // Without the lock: other observers may have to be told, which is user code.
    let new = ObservedState(first, aspect: aspect.rawValue, convert: convert) {
      Engine.follow($0, queue: queue)
    }
    return made.withLock {
      // Another thread may have been first; then this state is dropped.
      if let state = $0[keyPath: place] { return state }
      $0[keyPath: place] = new
      return new
    }
  }
}
