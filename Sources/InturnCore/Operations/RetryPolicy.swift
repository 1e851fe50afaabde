/// How often an operation is attempted again, and when; see `inturn_retry`.
package struct RetryPolicy {
  /// Counts the first attempt; 0 for no limit.
  package var maximumAttempts: UInt32 = 0
  /// Nanoseconds before the second attempt.
  package var delay: Int64 = 0
  /// The factor from one delay to the next; at least 1.
  package var factor = 1.0
  /// The longest delay in nanoseconds; 0 for no limit.
  package var maximumDelay: Int64 = 0
  /// The random share of each delay, 0 to 1: by how much it is shortened at most.
  package var jitter = 0.0
  /// Whether a time-out of an attempt ends the operation.
  package var isOfFailuresOnly = false
  /// Says whether a failure with this code, after this many attempts, is worth another one.
  package var decide: RawDecide?

  package typealias RawDecide = @convention(c) (UnsafeMutableRawPointer?, Int32, UInt32) -> Bool

  package init() {}

  package var isValid: Bool {
    delay >= 0 && maximumDelay >= 0 && factor >= 1 && factor.isFinite && (0...1).contains(jitter)
  }

  package func allows(attemptsSoFar: UInt32) -> Bool {
    maximumAttempts == 0 || attemptsSoFar < maximumAttempts
  }

  /// The delay after `attempts` attempts. `chance` is a number from 0 up to 1.
  package func delay(afterAttempts attempts: UInt32, chance: Double) -> Int64 {
    var length = Double(delay)
    var rest = attempts - 1
    // By squaring, as the number of attempts may be unlimited.
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
