import InturnCore

/// A queue's counts at one moment; exact when nothing changes meanwhile. Refused operations are not
/// counted.
public struct QueueStatistics: Sendable, Equatable {
  /// Accepted and not started, or between two attempts.
  public var pending = 0
  /// Started, and not ended.
  public var running = 0
  /// Ended by their work, or because that was not needed.
  public var finished = 0
  /// Ended by an error.
  public var failed = 0
  /// Ended as cancelled, whatever the cause.
  public var cancelled = 0
  /// Ended by a deadline.
  public var timedOut = 0
  /// Ended because their tokens were lost.
  public var abandoned = 0
  /// How many suspends are in force.
  public var suspends = 0
  /// The moment of the queue's clock before which its delays or its rate allow no start; nil when
  /// none is known.
  public var nextStart: Duration?

  /// All are zero.
  public init() {}

  package init(of queue: Handle) {
    let numbers = Engine.statistics(of: queue).1
    pending = Int(numbers.pending)
    running = Int(numbers.running)
    finished = Int(numbers.finished)
    failed = Int(numbers.ends.failed)
    cancelled = Int(numbers.ends.cancelled)
    timedOut = Int(numbers.ends.timedOut)
    abandoned = Int(numbers.ends.abandoned)
    suspends = Int(numbers.suspends)
    if numbers.nextStart != 0 { nextStart = .nanoseconds(numbers.nextStart) }
  }
}
