import InturnCore

/// A clock that stands still until it is advanced, so that time can be tested without waiting.
public final class ManualClock: Sendable {
  package let engineClock = Engine.createManualClock()!

  /// A clock that stands at zero.
  public init() {}

  deinit { Engine.release(engineClock) }

  /// The time since the clock's creation.
  public var now: Duration { .nanoseconds(engineClock.now) }

  /// Advances the clock. Whatever becomes due on the way does so in order; when the call returns,
  /// all of it has been handed over. The duration must not be negative.
  public func advance(by duration: Duration) {
    guard duration >= .zero, engineClock.advance(by: duration.inNanoseconds) else {
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
