import InturnCore

/// How often, and when, an operation that has failed or run too long is attempted again.
///
/// Each attempt calls the work anew, with a token of its own. Between attempts the operation is
/// pending. In a queue that runs one at a time it keeps its place; in a concurrent one, others run
/// meanwhile, and it waits for a turn again. Delays are on the queue's clock.
public struct Retry: Sendable {
  /// Counts the first attempt; nil for no limit.
  public var maxAttempts: Int?
  /// From the first failure to the second attempt.
  public var delay: Duration
  /// The factor from one delay to the next; at least 1.
  public var factor: Double
  /// The longest delay; nil for no limit.
  public var maxDelay: Duration?
  /// The random share of each delay, 0 to 1: by how much it is shortened at most.
  public var jitter: Double
  /// Whether an attempt that exceeds its `maxRun` ends the operation. Otherwise it counts as failed
  /// with ``QueueError/ended(_:)``, and the next attempt waits until its token is used or lost, or
  /// its function has returned.
  public var onlyFailures = false
  /// Whether a failure, after this many attempts, is worth another one; nil for always. Called once
  /// for each failure that another attempt may follow: where the queue's work is called or, for
  /// AsyncQueue's queues, on any thread.
  public var decide: (@Sendable (any Error, Int) -> Bool)?

  /// Attempts with delays between them.
  ///
  /// - Parameters:
  ///   - maxAttempts: Counts the first attempt; nil for no limit.
  ///   - delay: From the first failure to the second attempt.
  ///   - factor: The factor from one delay to the next; at least 1.
  ///   - maxDelay: The longest delay; nil for no limit.
  ///   - jitter: The random share of each delay, 0 to 1.
  ///   - decide: Whether a failure, after this many attempts, is worth another one; nil for always.
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

  /// The engine's form, without `decide`.
  package var enginePolicy: RetryPolicy {
    require(maxAttempts ?? 1 > 0, "maxAttempts must be positive; use nil for no limit.")
    require(delay >= .zero, "A delay must not be negative.")
    require(factor >= 1 && factor.isFinite, "factor must be 1 or more, and finite.")
    require((0...1).contains(jitter), "jitter must be from 0 to 1.")
    require(maxDelay ?? .seconds(1) > .zero, "maxDelay must be positive, or nil.")
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
