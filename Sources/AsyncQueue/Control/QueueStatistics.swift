/// Counts of one queue; exact when nothing changes meanwhile.
public struct QueueStatistics: Equatable, Sendable {
  /// Accepted, not started, not ended.
  public var pending = 0
  /// Started, not ended.
  public var running = 0
  /// Ended by returning.
  public var finished = 0
  /// Ended by throwing an error.
  public var failed = 0
  /// Cancelled before the start, or ended by throwing `CancellationError`.
  public var cancelled = 0
  /// Ended by a limit.
  public var timedOut = 0
  /// How many suspends are in force.
  public var suspends = 0
  /// The moment of the queue's clock before which its rate lets nothing start; nil for none.
  public var nextStart: Duration?

  /// All are zero.
  public init() {}
}

/// An operation that has not ended.
public struct OperationInfo: Equatable, Sendable {
  /// How far an operation that has not ended has come.
  public enum State: Equatable, Sendable { case pending, running }

  /// Whether it waits for its turn or has begun.
  public var state: State
  /// Whether it was asked to end.
  public var isCancelled: Bool
  /// The name that it was given, if it was.
  public var name: String?

  /// What a queue would say of such an operation; to compare with, in tests.
  public init(state: State, isCancelled: Bool = false, name: String? = nil) {
    self.state = state
    self.isCancelled = isCancelled
    self.name = name
  }
}

/// How an operation ended.
public enum OperationOutcome: Equatable, Sendable {
  case finished, failed, cancelled, timedOut
}

/// Something that happened to a queue.
public enum QueueEvent: Equatable, Sendable {
  /// An operation was accepted. The name is the one that it was given, if it was.
  case enqueued(name: String?)
  /// An operation has begun.
  case started(name: String?)
  /// An operation has ended.
  case ended(name: String?, OperationOutcome)
  /// The queue was suspended, or resumed.
  case suspended, resumed
  /// The queue was closed.
  case closed
}
