import InturnCore

/// An observation, which lasts until it is cancelled or its last reference is released.
///
/// It does not keep the value alive: when the value goes away, the observation is over.
public final class ValueObservation: Sendable {
  private let end: @Sendable (_ timeoutNanoseconds: Int64) -> Status

  package init<T>(_ trail: Trail<T>, _ id: UInt64) {
    end = { [weak trail] in trail?.cancel(id, timeoutNanoseconds: $0) ?? .stale }
  }

  /// An observation that is over.
  package init() { end = { _ in .stale } }

  /// Another observation, together with an object that it needs while it lasts.
  package init(_ other: ValueObservation, keeping needed: some Sendable) {
    end = { timeout in withExtendedLifetime(needed) { other.end(timeout) } }
  }

  /// Ends the observation. When this has returned, the observer is not running and never runs
  /// again. When the observer itself calls it, the present run is the last.
  ///
  /// Calling it again does nothing. Deadlocks when the observer waits for the caller in a way that
  /// the library does not know. A ring of observers that cancel each other is detected, reported
  /// and not waited for.
  public func cancel() { _ = end(-1) }

  /// Ends the observation, and waits at most this long for the observer to return. True when the
  /// observer is not running; false when it still is, after the time-out. It never runs again.
  public func cancel(timeout: Duration) -> Bool {
    let status = end(timeout.clampedNanoseconds)
    return status == .ok || status == .stale
  }

  /// Ends the observation without waiting for an observer that is running.
  deinit { _ = end(0) }
}

extension Duration {
  /// In nanoseconds; zero if negative, and the maximum if too long.
  package var clampedNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isTooLongAfterAll) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isTooLong || isTooLongAfterAll ? .max : sum
  }
}
