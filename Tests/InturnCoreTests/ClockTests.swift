import TestSupport
import Testing

@testable import InturnCore

/// The clock's heap of timers, by way of the one owner that needs no queue: nobody.
@Suite struct ClockTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func `timers leave the heap when they are due and not before`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let clock = Clock(isManual: true)
    let count = 300
    let nodes = UnsafeMutablePointer<TimerNode>.allocate(capacity: count)
    nodes.initialize(repeating: TimerNode(), count: count)
    defer { nodes.deallocate() }
    var deadlines: [Int: Int64] = [:]
    for _ in 0..<5_000 {
      let place = Int(random.next() % UInt64(count))
      switch random.next() % 4 {
      case 0, 1:
        // One that has passed is fired by the system clock's thread.
        let deadline = clock.now + 1 + Int64(random.next() % 1_000)
        clock.arm(nodes + place, at: deadline, for: .nobody)
        deadlines[place] = deadline
      case 2:
        clock.disarm(nodes + place)
        deadlines[place] = nil
      default:
        let isAdvanced = clock.advance(by: Int64(random.next() % 100))
        #expect(isAdvanced)
        let now = clock.now
        deadlines = deadlines.filter { $0.value > now }
      }
      for place in 0..<count {
        #expect((nodes[place].position >= 0) == (deadlines[place] != nil))
      }
    }
  }

  @Test func `a clock does not pass the end of time`() {
    let clock = Clock(isManual: true)
    #expect(clock.advance(by: .max))
    #expect(!clock.advance(by: 1))
    #expect(clock.now == .max)
    #expect(clock.moment(after: 1) == .max)
  }
}
