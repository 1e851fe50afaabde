/// So many starts in each interval, and so many of them at once: a token bucket.
///
/// The bucket holds `burst` starts and is full in the beginning. Each start takes one, and each
/// `interval / starts` one comes back, as an exact fraction, so that nothing drifts. All that is kept
/// is the moment at which the bucket is full again: the "generic cell rate algorithm" of ITU-T I.371.
package struct StartRate: Equatable, Sendable {
  package let starts: UInt32
  package let interval: Int64
  package let burst: UInt32

  /// When the bucket is full: nanoseconds, and so many `starts`-ths of one.
  private var full = Int64.min
  private var part: Int64 = 0

  /// `burst`: 0 for as many as `starts`. Nil when they make no rate: `starts` and `interval` are
  /// positive, and the bucket is full again within 2^62 nanoseconds even at one start an interval.
  package init?(starts: UInt32, interval: Int64, burst: UInt32) {
    let burst = burst == 0 ? starts : burst
    let (product, overflow) = interval.multipliedReportingOverflow(by: Int64(burst))
    guard starts > 0, interval > 0, !overflow, product <= Int64.max / 2 else { return nil }
    self.starts = starts
    self.interval = interval
    self.burst = burst
  }

  /// The moment from which on there is a start in the bucket.
  var nextStart: Int64 {
    // It has been full ever since.
    if full == Int64.min { return full }
    let before = time(of: burst - 1)
    return full - before.whole + (part > before.part ? 1 : 0)
  }

  /// Takes one out, at a moment at which there is one.
  mutating func take(at now: Int64) {
    // Up to a nanosecond late is in time: else the fractions would be lost.
    if full < now - (part > 0 ? 1 : 0) { (full, part) = (now, 0) }
    add(1)
  }

  /// Takes as many out as are missing in a rate that was in force until now, if there are so many.
  mutating func takeOver(from old: StartRate, at now: Int64) {
    if old.full < now { return }
    let owed = (old.full - now) * Int64(old.starts) + old.part
    let missing = (owed + old.interval - 1) / old.interval
    (full, part) = (now, 0)
    add(UInt32(clamping: min(missing, Int64(burst))))
  }

  private mutating func add(_ count: UInt32) {
    let more = time(of: count)
    part += more.part
    let carry: Int64 = part >= Int64(starts) ? 1 : 0
    part -= carry * Int64(starts)
    let (sum, overflow) = full.addingReportingOverflow(more.whole + carry)
    full = overflow ? Int64.max : sum
  }

  /// The time in which so many come back.
  private func time(of count: UInt32) -> (whole: Int64, part: Int64) {
    let (whole, part) = (interval * Int64(count)).quotientAndRemainder(dividingBy: Int64(starts))
    return (whole, part)
  }
}
