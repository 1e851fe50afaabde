import TestSupport
import Testing

@testable import InturnCore

/// The clock's heap of timers, with the only owner that needs no queue: nobody.
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
        // A deadline that has passed is fired by the system clock's thread.
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
        #expect(nodes[place].isArmed == (deadlines[place] != nil))
      }
    }
  }

  @Test(arguments: [4, 5, 6] as [UInt64])
  func `the timer that is due first comes first, of one deadline the one armed first`(seed: UInt64)
  {
    var random = SeededGenerator(seed: seed)
    var heap = TimerHeap()
    let count = 60
    let nodes = UnsafeMutablePointer<TimerNode>.allocate(capacity: count)
    nodes.initialize(repeating: TimerNode(), count: count)
    defer { nodes.deallocate() }
    // The armed timers, in the order in which they were armed.
    var armed: [TimerNode.Pointer] = []
    var now: Int64 = 0
    func due() -> TimerNode.Pointer? {
      armed.enumerated().min {
        ($0.element.pointee.deadline, $0.offset) < ($1.element.pointee.deadline, $1.offset)
      }?.element
    }
    for _ in 0..<20_000 {
      now += 1
      let node = nodes + Int(random.next() % UInt64(count))
      switch random.next() % 8 {
      case 0: if let first = heap.first { take(out: first) }
      case _ where node.pointee.isArmed: take(out: node)
      default:
        // Six limits, more than there are runs to extend, and some unrelated moments.
        let limit = Int64(random.next() % 7) * 10
        node.pointee.deadline = now + (limit == 60 ? Int64(random.next() % 100) : limit)
        let isFirst = heap.insert(node)
        armed.append(node)
        #expect(isFirst == (due() == node))
      }
      let (first, size) = (heap.first, heap.count)
      #expect(first == due() && size == armed.count)
      for place in 0..<count { #expect(nodes[place].isArmed == armed.contains(nodes + place)) }
    }
    func take(out node: TimerNode.Pointer) {
      heap.remove(node)
      armed.removeAll { $0 == node }
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
