import InturnCore

/// How often an operation that has failed is started again, and when.
///
/// Each attempt calls the work anew, with a token of its own. In between the operation is pending;
/// others run meanwhile, and it takes its turn anew.
public struct ConcurrentRetry: Sendable {
  /// The first one included; nil for no limit.
  public var maximumAttempts: Int?
  /// From the first failure to the second attempt.
  public var delay: Duration
  /// Each further delay is so many times the one before; at least 1.
  public var factor: Double
  /// No delay is longer; nil for no limit.
  public var maximumDelay: Duration?
  /// Which part of each delay is left to chance, 0 to 1: the delay is that much shorter at most.
  public var jitter: Double
  /// Whether a failure, after so many attempts, is worth another one; nil for each. Called on a
  /// thread of the pool, once for each failure that another attempt may follow.
  public var isWorthIt: (@Sendable (any Error, Int) -> Bool)?

  /// The same delay before each further attempt.
  public static func constant(
    _ delay: Duration, maximumAttempts: Int? = nil, jitter: Double = 0,
    isWorthIt: (@Sendable (any Error, Int) -> Bool)? = nil
  ) -> ConcurrentRetry {
    ConcurrentRetry(
      maximumAttempts: maximumAttempts, delay: delay, factor: 1, maximumDelay: nil, jitter: jitter,
      isWorthIt: isWorthIt)
  }

  /// Delays that grow by a factor.
  public static func exponential(
    from delay: Duration, factor: Double = 2, maximumDelay: Duration? = nil,
    maximumAttempts: Int? = nil, jitter: Double = 0,
    isWorthIt: (@Sendable (any Error, Int) -> Bool)? = nil
  ) -> ConcurrentRetry {
    ConcurrentRetry(
      maximumAttempts: maximumAttempts, delay: delay, factor: factor, maximumDelay: maximumDelay,
      jitter: jitter, isWorthIt: isWorthIt)
  }

  var enginePolicy: RetryPolicy {
    precondition(
      maximumAttempts ?? 1 > 0, "maximumAttempts must be positive; use nil for no limit.")
    precondition(delay >= .zero, "A delay must not be negative.")
    precondition(factor >= 1 && factor.isFinite, "factor must be 1 or more, and finite.")
    precondition((0...1).contains(jitter), "jitter must be from 0 to 1.")
    precondition(maximumDelay ?? .seconds(1) > .zero, "maximumDelay must be positive, or nil.")
    var policy = RetryPolicy()
    policy.maximumAttempts = UInt32(clamping: maximumAttempts ?? 0)
    policy.delay = delay.inNanoseconds
    policy.factor = factor
    policy.maximumDelay = maximumDelay.map { max(1, $0.inNanoseconds) } ?? 0
    policy.jitter = jitter
    if isWorthIt != nil { policy.decide = ConcurrentOperation.askWhetherWorthIt }
    return policy
  }
}
