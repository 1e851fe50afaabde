import TestSupport
import Testing

@testable import InturnCore

/// Which waits can never end, compared with the definition: a wait is stuck if it is in some set of
/// waits, each of which has a hindrance whose places that set takes.
@Suite struct StuckWaitsTests {
  private struct Hindrance {
    var places: UInt64
    /// How many places each wait holds.
    var held: [UInt64]
    /// The waits that it keeps, as bits.
    var kept: Int
  }

  private static func solve(_ count: Int, _ hindrances: [Hindrance]) -> [Bool] {
    var stuck = StuckWaits()
    for _ in 0..<count { stuck.addWait() }
    for hindrance in hindrances {
      let holders = (0..<count).filter { hindrance.held[$0] > 0 }
        .map { StuckWaits.Holder(wait: $0, places: hindrance.held[$0]) }
      guard let number = stuck.add(places: hindrance.places, holders: holders) else { continue }
      for wait in 0..<count where hindrance.kept >> wait & 1 == 1 { stuck.keep(wait, by: number) }
    }
    return stuck.solve()
  }

  private static func define(_ count: Int, _ hindrances: [Hindrance]) -> [Bool] {
    var isStuck = Array(repeating: false, count: count)
    for set in 0..<(1 << count) {
      let members = (0..<count).filter { set >> $0 & 1 == 1 }
      let upheld = hindrances.filter { hindrance in
        members.reduce(0) { $0 + hindrance.held[$1] } >= hindrance.places
      }
      let areKept = members.allSatisfy { member in
        upheld.contains { $0.kept >> member & 1 == 1 }
      }
      if areKept { for member in members { isStuck[member] = true } }
    }
    return isStuck
  }

  @Test func `two hindrances of three waits, all of them`() {
    var all: [Hindrance] = []
    for places: UInt64 in 1...2 {
      for held in 0..<27 {
        for kept in 0..<8 {
          let each = [held % 3, held / 3 % 3, held / 9].map { UInt64($0) }
          all.append(Hindrance(places: places, held: each, kept: kept))
        }
      }
    }
    var differences = 0
    for (index, first) in all.enumerated() {
      for second in all[index...]
      where Self.solve(3, [first, second]) != Self.define(3, [first, second]) {
        differences += 1
      }
    }
    #expect(differences == 0)
  }

  @Test(arguments: [1, 2, 3]) func `random hindrances of up to eight waits`(seed: Int) {
    var random = SeededGenerator(seed: UInt64(seed))
    var stuck = 0
    for _ in 0..<3_000 {
      let count = Int.random(in: 1...8, using: &random)
      let hindrances = (0..<Int.random(in: 1...8, using: &random)).map { _ in
        Hindrance(
          places: .random(in: 1...4, using: &random),
          held: (0..<count).map { _ in .random(in: 0...2, using: &random) },
          kept: .random(in: 0..<(1 << count), using: &random))
      }
      let result = Self.solve(count, hindrances)
      #expect(result == Self.define(count, hindrances))
      stuck += result.contains(true) ? 1 : 0
    }
    // Both answers occur.
    #expect(stuck > 300 && stuck < 2_900)
  }
}
