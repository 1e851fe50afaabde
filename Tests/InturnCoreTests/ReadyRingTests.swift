import TestSupport
import Testing

@testable import InturnCore

@Suite struct ReadyRingTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `items are taken in the order in which they came`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var ring = ReadyRing()
    var (given, taken): (UInt, UInt) = (0, 0)
    // It runs empty, grows beyond its first size, and wraps round, again and again.
    for most in [1, 2, 16, 17, 18, 40, 300, 3] as [UInt] {
      for _ in 0..<4 * Int(most) {
        for _ in 0..<UInt.random(in: 0...most, using: &random) where given - taken < most {
          given += 1
          ring.append(ReadyRing.Item(lane: lane(given)))
        }
        for _ in 0..<UInt.random(in: 0...most, using: &random) {
          let item = ring.popFirst()
          if taken < given { taken += 1 } else { #expect(item == nil) }
          if case .lane(let pointer) = item?.content { #expect(pointer == lane(taken)) }
        }
        #expect(ring.count == Int(given - taken) && ring.taken == UInt32(taken))
      }
    }
  }

  private func lane(_ number: UInt) -> Lane.Pointer { Lane.Pointer(bitPattern: number << 6)! }
}
