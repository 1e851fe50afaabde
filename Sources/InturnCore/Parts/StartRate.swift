/// A limit of `starts` starts in each interval, `burst` of them at once: a token bucket.
///
/// The bucket holds `burst` starts and is full at first. Each start takes one out, and one comes
/// back after each `interval / starts`, as an exact fraction, so that nothing drifts. Only the
/// moment at which the bucket is full again is stored: the "generic cell rate algorithm" of ITU-T
/// I.371.
package struct StartRate: Equatable, Sendable {
  package let starts: UInt32
  package let interval: Int64
  package let burst: UInt32

  /// When the bucket is full again: nanoseconds, and `part` `starts`-ths of one.
  private var full = Int64.min
  private var part: Int64 = 0

  /// `burst` is 0 for as many as `starts`. Nil for an invalid rate: `starts` and `interval` must be
  /// positive, and the bucket must be full again within 2^62 nanoseconds even at one start an
  /// interval.
  package init?(starts: UInt32, interval: Int64, burst: UInt32) {
    let burst = burst == 0 ? starts : burst
    let (product, overflow) = interval.multipliedReportingOverflow(by: Int64(burst))
    guard starts > 0, interval > 0, !overflow, product <= Int64.max / 2 else { return nil }
    self.starts = starts
    self.interval = interval
    self.burst = burst
  }

  /// The moment from which the bucket contains a start.
  var nextStart: Int64 {
    // It has always been full.
    if full == Int64.min { return full }
    let before = time(of: burst - 1)
    // Only at the end of time is there no nanosecond after it.
    return full - before.whole + (part > before.part && full < Int64.max ? 1 : 0)
  }

  /// Takes a start out, at a moment when there is one.
  mutating func take(at now: Int64) {
    // Up to a nanosecond late counts as in time, or the fractions would be lost.
    if full < now - (part > 0 ? 1 : 0) { (full, part) = (now, 0) }
    add(interval)
  }

  /// Takes out what was missing under the previous rate, fractions included, as far as this bucket
  /// holds it.
  mutating func takeOver(from old: StartRate, at now: Int64) {
    if old.full < now { return }
    let owed = (old.full - now) * Int64(old.starts) + old.part
    let (missing, rest) = owed.quotientAndRemainder(dividingBy: old.interval)
    (full, part) = (now, 0)
    if missing >= Int64(burst) { return add(interval * Int64(burst)) }
    // Never less than before, and less than a start.
    let fraction = Int64(Double(rest) / Double(old.interval) * Double(interval)) + 1
    add(interval * missing + (interval == old.interval ? rest : min(fraction, interval)))
  }

  /// Lets it be full later by this many nanoseconds' `starts`-ths.
  private mutating func add(_ owed: Int64) {
    let more = owed.quotientAndRemainder(dividingBy: Int64(starts))
    part += more.remainder
    let carry: Int64 = part >= Int64(starts) ? 1 : 0
    part -= carry * Int64(starts)
    let (sum, overflow) = full.addingReportingOverflow(more.quotient + carry)
    full = overflow ? Int64.max : sum
  }

  /// The time in which `count` starts come back.
  private func time(of count: UInt32) -> (whole: Int64, part: Int64) {
    let (whole, part) = (interval * Int64(count)).quotientAndRemainder(dividingBy: Int64(starts))
    return (whole, part)
  }
}
