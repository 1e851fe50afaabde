import InturnCore

/// How often an operation that has failed, or has run too long, is started again, and when.
///
/// Each attempt calls the work anew, with a token of its own. In between the operation is pending.
/// In a queue that runs one at a time it keeps its place; in a concurrent one others run meanwhile,
/// and it takes its turn anew. Delays are of the queue's clock.
public struct Retry: Sendable {
  /// The first one included; nil for no limit.
  public var maxAttempts: Int?
  /// From the first failure to the second attempt.
  public var delay: Duration
  /// Each further delay is so many times the one before; at least 1.
  public var factor: Double
  /// No delay is longer; nil for no limit.
  public var maxDelay: Duration?
  /// Which part of each delay is left to chance, 0 to 1: the delay is that much shorter at most.
  public var jitter: Double
  /// Whether an attempt that exceeds its `maxRun` is the operation's end. Otherwise it is as one that
  /// has failed with ``QueueError/ended(_:)``, and the next one waits until its token is used or lost,
  /// or its function has returned.
  public var onlyFailures = false
  /// Whether a failure, after so many attempts, is worth another one; nil for each. Called once
  /// for each failure that another attempt may follow, where the queue's work is called; but for one of
  /// AsyncQueue's queues on any thread.
  public var decide: (@Sendable (any Error, Int) -> Bool)?

  /// Attempts with delays between them.
  ///
  /// - Parameters:
  ///   - maxAttempts: The first one included; nil for no limit.
  ///   - delay: From the first failure to the second attempt.
  ///   - factor: Each further delay is so many times the one before; at least 1.
  ///   - maxDelay: No delay is longer; nil for no limit.
  ///   - jitter: Which part of each delay is left to chance, 0 to 1.
  ///   - decide: Whether a failure, after so many attempts, is worth another one; nil for each.
  public init(
    maxAttempts: Int? = nil, delay: Duration = .zero, factor: Double = 1,
    maxDelay: Duration? = nil, jitter: Double = 0,
    decide: (@Sendable (any Error, Int) -> Bool)? = nil
  ) {
    self.maxAttempts = maxAttempts
    self.delay = delay
    self.factor = factor
    self.maxDelay = maxDelay
    self.jitter = jitter
    self.decide = decide
  }

  /// The same for the engine, but for `decide`.
  package var enginePolicy: RetryPolicy {
    precondition(maxAttempts ?? 1 > 0, "maxAttempts must be positive; use nil for no limit.")
    precondition(delay >= .zero, "A delay must not be negative.")
    precondition(factor >= 1 && factor.isFinite, "factor must be 1 or more, and finite.")
    precondition((0...1).contains(jitter), "jitter must be from 0 to 1.")
    precondition(maxDelay ?? .seconds(1) > .zero, "maxDelay must be positive, or nil.")
    var policy = RetryPolicy()
    policy.maximumAttempts = UInt32(clamping: maxAttempts ?? 0)
    policy.delay = delay.inNanoseconds
    policy.factor = factor
    policy.maximumDelay = maxDelay.map { max(1, $0.inNanoseconds) } ?? 0
    policy.jitter = jitter
    policy.isOfFailuresOnly = onlyFailures
    return policy
  }
}
