import TestSupport
import Testing

@testable import InturnCore

/// A rate compared with the bucket that it implements, which counts in fractions of a start.
@Suite struct StartRateTests {
  /// Filled and emptied step by step.
  private struct Bucket {
    let starts: Int64
    let interval: Int64
    let burst: Int64
    /// In `interval`-ths of a start.
    var level: Int64
    var now: Int64 = 0

    init(_ rate: StartRate) {
      starts = Int64(rate.starts)
      interval = rate.interval
      burst = Int64(rate.burst)
      level = burst * interval
    }

    mutating func pass(_ time: Int64) {
      now += time
      level += time * starts
      // What has overflowed within the last nanosecond stays, as moments are whole nanoseconds.
      if level - burst * interval >= starts { level = burst * interval }
    }
  }

  @Test(arguments: [
    (1, 1, 1), (1, 7, 1), (3, 7, 1), (3, 7, 2), (7, 3, 4), (5, 5, 5), (2, 9, 0), (10, 1, 3),
  ])
  func letsAsManyStartAsTheBucketHas(_ starts: UInt32, _ interval: Int64, _ burst: UInt32) throws {
    var rate = try #require(StartRate(starts: starts, interval: interval, burst: burst))
    var bucket = Bucket(rate)
    var chance = SystemRandomNumberGenerator()
    var started = 0
    for _ in 0..<5_000 {
      let isLet = rate.nextStart <= bucket.now
      #expect(isLet == (bucket.level >= bucket.interval))
      if isLet && Int.random(in: 0..<4, using: &chance) > 0 {
        rate.take(at: bucket.now)
        bucket.level -= bucket.interval
        started += 1
      } else {
        bucket.pass(Int64.random(in: 1...3, using: &chance))
      }
    }
    #expect(started > 0)
  }

  @Test func losesNothingOfAFraction() throws {
    var rate = try #require(StartRate(starts: 3, interval: 1_000_000_000, burst: 1))
    rate.take(at: 0)
    for step in 1...30_000 {
      #expect(rate.nextStart == (Int64(step) * 1_000_000_000 + 2) / 3)
      rate.take(at: rate.nextStart)
    }
  }

  @Test(arguments: [(0, 1, 1), (1, 0, 1), (1, -1, 1), (1, Int64.max, 1), (2, Int64.max / 3, 0)])
  func isNoneOfSuchNumbers(_ starts: UInt32, _ interval: Int64, _ burst: UInt32) {
    #expect(StartRate(starts: starts, interval: interval, burst: burst) == nil)
  }

  @Test func atTheEndOfTimeNothingOverflows() throws {
    var rate = try #require(StartRate(starts: 1, interval: Int64.max / 2, burst: 1))
    rate.take(at: Int64.max - 5)
    #expect(rate.nextStart == Int64.max)
  }

  @Test func anotherRateLacksWhatTheOldOneLacked() throws {
    var old = try #require(StartRate(starts: 1, interval: 10, burst: 3))
    old.take(at: 0)
    old.take(at: 0)
    var new = try #require(StartRate(starts: 1, interval: 100, burst: 3))
    new.takeOver(from: old, at: 5)
    #expect(new.nextStart <= 5)
    new.take(at: 5)
    #expect(new.nextStart == 56, "half a start has come back, and never more")
    var small = try #require(StartRate(starts: 1, interval: 100, burst: 1))
    small.takeOver(from: old, at: 5)
    #expect(small.nextStart == 105)
    small.takeOver(from: old, at: 21)
    #expect(small.nextStart == 105)
  }

  @Test func `the same rate taken over at any moment changes nothing`() throws {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<10_000 {
      let starts = UInt32.random(in: 1...9, using: &random)
      var rate = try #require(
        StartRate(
          starts: starts, interval: .random(in: 1...1000, using: &random),
          burst: .random(in: 0...5, using: &random)))
      var now: Int64 = 0
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        now = max(now, rate.nextStart) + .random(in: 0...50, using: &random)
        rate.take(at: now)
      }
      let next = rate.nextStart
      let old = rate
      now += .random(in: 0...100, using: &random)
      rate.takeOver(from: old, at: now)
      #expect(rate.nextStart == next || rate.nextStart <= now && next <= now)
    }
  }
}
