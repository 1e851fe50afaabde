/// How often an operation is attempted again, and when; see `inturn_retry`.
package struct RetryPolicy {
  /// The first attempt included; 0 for no limit.
  package var maximumAttempts: UInt32 = 0
  /// Nanoseconds before the second attempt.
  package var delay: Int64 = 0
  /// Each further delay is so many times the one before; at least 1.
  package var factor = 1.0
  /// No delay is longer, in nanoseconds; 0 for no limit.
  package var maximumDelay: Int64 = 0
  /// Which part of each delay is left to chance, 0 to 1: the delay is that much shorter at most.
  package var jitter = 0.0
  /// Whether an attempt that exceeds its time is the operation's end.
  package var isOfFailuresOnly = false
  /// Says whether a failure with this code, after so many attempts, is worth another one.
  package var decide: RawDecide?

  package typealias RawDecide = @convention(c) (UnsafeMutableRawPointer?, Int32, UInt32) -> Bool

  package init() {}

  package var isValid: Bool {
    delay >= 0 && maximumDelay >= 0 && factor >= 1 && factor.isFinite && (0...1).contains(jitter)
  }

  package func allows(attemptsSoFar: UInt32) -> Bool {
    maximumAttempts == 0 || attemptsSoFar < maximumAttempts
  }

  /// The delay after so many attempts. `chance` is a number from 0 up to 1.
  package func delay(afterAttempts attempts: UInt32, chance: Double) -> Int64 {
    var length = Double(delay)
    var rest = attempts - 1
    // By squaring, as there may be no limit to the attempts.
    var power = factor
    while rest > 0 && length > 0 && length < Double(Int64.max) {
      if rest & 1 == 1 { length *= power }
      power = Swift.min(power * power, Double(Int64.max))
      rest >>= 1
    }
    let limit = maximumDelay == 0 ? Double(Int64.max) : Double(maximumDelay)
    length = Swift.min(length, limit) * (1 - jitter * chance)
    return length >= Double(Int64.max) ? Int64.max : Int64(length)
  }
}
