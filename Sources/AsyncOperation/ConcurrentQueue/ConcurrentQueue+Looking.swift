import InturnCore

extension ConcurrentQueue {
  /// Numbers of a queue at one moment.
  public struct Statistics: Sendable, Equatable {
    /// Accepted, and not started or between two attempts.
    public var pending: Int
    /// Started, and not ended.
    public var running: Int
    /// Ended by their work, or because that was not needed.
    public var finished: Int
    /// Ended by an error.
    public var failed: Int
    /// Ended as cancelled, whatever the cause.
    public var cancelled: Int
    /// Ended by a deadline.
    public var timedOut: Int
    /// Ended because their tokens were lost.
    public var abandoned: Int
    /// How many suspends are in force.
    public var suspends: Int
    /// The moment of the system's monotonic clock before which the queue's rate lets nothing start;
    /// nil for none.
    public var nextStart: Duration?
  }

  /// How many operations there are and how the others have ended; exact when nothing changes
  /// meanwhile.
  public var statistics: Statistics {
    let numbers = Engine.statistics(of: handle).1
    return Statistics(
      pending: Int(numbers.pending), running: Int(numbers.running),
      finished: Int(numbers.finished), failed: Int(numbers.failed),
      cancelled: Int(numbers.cancelled), timedOut: Int(numbers.timedOut),
      abandoned: Int(numbers.abandoned), suspends: Int(numbers.suspends),
      nextStart: numbers.nextStart == 0 ? nil : .nanoseconds(numbers.nextStart))
  }

  /// An operation that has not ended.
  public struct Listed: Sendable, Equatable {
    /// Pending or running.
    public var state: ConcurrentOperation.State
    /// Whether it was asked to end.
    public var isCancelled: Bool
    /// Its name and where it was enqueued; nil for a plain closure.
    public var source: String?
  }

  /// The operations that have not ended: running ones first, then pending ones in about the order
  /// in which they will start. At most so many; takes time for each.
  public func list(atMost count: Int = .max) -> [Listed] {
    precondition(count >= 0, "A count must not be negative.")
    var all: [Listed] = []
    if count == 0 { return all }
    _ = Engine.list(handle) { info in
      all.append(
        Listed(
          state: info.state == .running ? .running : .pending, isCancelled: info.isCancelled,
          source: info.label.map { String(cString: $0) }))
      return all.count < count
    }
    return all
  }
}
