import Testing

@testable import InturnCore

@Suite struct EpisodesTests {
  private static let second: Int64 = 1_000_000_000

  /// The times, in seconds from the first, at which a stall that is checked all the time is reported.
  private func tellings(of key: UInt64, within seconds: Int64) -> [Int64] {
    var episodes = Episodes()
    var moments: [Int64] = []
    for moment in 0..<seconds {
      let now = (1000 + moment) * Self.second
      if let due = episodes.nextTelling(of: key), due > now { continue }
      if episodes.tells(of: key, at: now) { moments.append(moment) }
    }
    return moments
  }

  @Test func `it is told at once, after ten seconds, after a minute, then every ten minutes`() {
    #expect(tellings(of: 1, within: 2000) == [0, 10, 60, 660, 1260, 1860])
  }

  @Test func `no more than ten are told in a minute, and the others in the next`() {
    var episodes = Episodes()
    let told = (1...25).map { episodes.tells(of: $0, at: Self.second) }
    #expect(told.filter { $0 }.count == 10)
    let inThisMinute = episodes.tells(of: 30, at: 60 * Self.second)
    #expect(!inThisMinute && episodes.nextTelling(of: 30) == nil)
    let inTheNext = episodes.tells(of: 30, at: 61 * Self.second)
    #expect(inTheNext)
  }

  @Test func `the first that is left out is known once in a minute`() {
    var episodes = Episodes()
    var first: [Int64] = []
    for moment in 0..<120 as Range<Int64> {
      for key in 1...12 as ClosedRange<UInt64> {
        let isTold = episodes.tells(of: UInt64(moment) * 100 + key, at: moment * Self.second)
        if !isTold && episodes.isFirstLeftOut() { first.append(moment) }
      }
    }
    #expect(first == [0, 60])
  }

  @Test func `it keeps no more than it needs`() {
    var episodes = Episodes()
    for key in 1...2000 as ClosedRange<UInt64> {
      let isTold = episodes.tells(of: key, at: Int64(key) * 6 * Self.second)
      #expect(isTold)
    }
    #expect(episodes.nextTelling(of: 1) == nil)
    #expect(episodes.nextTelling(of: 2000) != nil)
  }
}
