import InturnCore

/// The source of a queue's delays, deadlines and timeouts.
public enum QueueClock: Sendable {
  /// The system's monotonic clock.
  case system
  /// One that is advanced by hand.
  case manual(ManualClock)

  /// Nil for the system's.
  package var engineClock: Clock? {
    switch self {
    case .system: nil
    case .manual(let clock): clock.clock
    }
  }
}

/// A clock that stands still until it is advanced, so that time can be tested without waiting.
public final class ManualClock: Sendable {
  let clock = Clock(isManual: true)

  /// A clock that stands at zero.
  public init() {}

  /// The time since the clock's creation.
  public var now: Duration { .nanoseconds(clock.now) }

  /// Advances the clock. What falls due on the way falls due in its order; when the call has
  /// returned, all of it has been handed over. The duration must not be negative.
  public func advance(by duration: Duration) {
    guard duration >= .zero, clock.advance(by: duration.inNanoseconds) else {
      fatalError("A manual clock is advanced by durations that are not negative, up to 292 years.")
    }
  }
}

extension Duration {
  /// At most what fits, which is 292 years.
  package var inNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    let (sum, sumOverflow) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return sumOverflow ? .max : sum
  }
}
