import InturnCore

/// An observation, as long as it lasts: until it is cancelled, or its last reference goes.
///
/// It keeps the value's account of changes, but not the value itself: when that goes, the
/// observation is over.
public final class ValueObservation: Sendable {
  private let end: @Sendable (_ timeoutNanoseconds: Int64) -> Status

  package init<T>(_ trail: Trail<T>, _ id: UInt64) {
    end = { trail.cancel(id, timeoutNanoseconds: $0) }
  }

  /// An observation that is over.
  package init() { end = { _ in .stale } }

  /// Another observation, and what it needs as long as it lasts.
  package init(_ other: ValueObservation, keeping needed: some Sendable) {
    end = { timeout in withExtendedLifetime(needed) { other.end(timeout) } }
  }

  /// Ends the observation. When this has returned, the observer is not running and never runs
  /// again, unless the caller is inside it: then it does not run again.
  ///
  /// Calling it again does nothing. Deadlocks when the observer waits for the caller by means that
  /// the library does not know; a ring of observers that cancel each other is noticed, reported
  /// and not waited for.
  public func cancel() { _ = end(-1) }

  /// Ends the observation, and waits for no longer than this for the observer to return. True when
  /// it is not running; false when it still is, the time being over. It never runs again.
  public func cancel(timeout: Duration) -> Bool {
    let status = end(timeout.clampedNanoseconds)
    return status == .ok || status == .stale
  }

  /// Ends the observation, and does not wait for an observer that is running just now.
  deinit { _ = end(0) }
}

extension Duration {
  /// In nanoseconds, not negative, and cut where it is too long for them.
  package var clampedNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, isTooLongAfterAll) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return isTooLong || isTooLongAfterAll ? .max : sum
  }
}
