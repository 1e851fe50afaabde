/// How long an operation may wait and run. Times are of its queue's clock.
public struct OperationLimits: Sendable {
  /// What becomes of the operation's place in the queue when `maxRun` has passed.
  public enum Place: Sendable {
    /// The next operation starts when the body has really ended.
    case held
    /// The next operation starts at once, even if the body is still going on.
    case freed
  }

  /// From the enqueue to the start. Afterwards the operation never runs.
  public var maxWait: Duration?
  /// From the start to the end. Afterwards the operation's task is cancelled, and whoever waits for
  /// its value gets ``QueueError/ranTooLong`` once the body has returned.
  public var maxRun: Duration?
  /// What the end of `maxRun` means for the operations behind it.
  public var placeAfterMaxRun: Place
  /// After so long in the queue, and again after so long running, a line is reported.
  public var stallWarning: Duration?

  /// Limits in time of the queue's clock; nil means none.
  public init(
    maxWait: Duration? = nil, maxRun: Duration? = nil, placeAfterMaxRun: Place = .held,
    stallWarning: Duration? = nil
  ) {
    self.maxWait = maxWait
    self.maxRun = maxRun
    self.placeAfterMaxRun = placeAfterMaxRun
    self.stallWarning = stallWarning
  }
}
