import TestSupport
import Testing

@testable import InturnCore

/// What a lane's order returns, and when.
@Suite struct LaneOrderTests {
  /// An order whose jobs are numbers.
  private final class Numbers {
    let order = UnsafeMutablePointer<LaneOrder>.allocate(capacity: 1)

    init() { order.initialize(to: LaneOrder()) }

    deinit {
      while order.pop(ages: false) != nil {}
      order.pointee.front.release()
      order.pointee.behind.release()
      order.deinitialize(count: 1)
      order.deallocate()
    }

    private func job(_ number: Int) -> Job {
      let context = UnsafeMutableRawPointer(bitPattern: number + 1)
      return Job(
        work: Work(known: { _, _ in }, at: .unknown), context: context, destroy: nil)
    }

    func push(_ number: Int, priority: Int64) {
      #expect(order.push(job(number), priority: priority))
    }

    func putAtFront(_ number: Int) {
      let isPut = order.pointee.front.append(job(number))
      #expect(isPut)
    }

    func pop(ages: Bool = false) -> Int? {
      order.pop(ages: ages).map { Int(bitPattern: $0.context) - 1 }
    }

    func popAll(ages: Bool = false) -> [Int] {
      var all: [Int] = []
      while let number = pop(ages: ages) { all.append(number) }
      return all
    }
  }

  @Test func `higher priorities come first, and equal ones in order`() {
    let numbers = Numbers()
    let priorities: [Int64] = [0, -3, 5, 0, 5, Int64(Int32.max), -3, Int64(Int32.min), 5]
    for (number, priority) in priorities.enumerated() { numbers.push(number, priority: priority) }
    #expect(numbers.popAll() == [5, 2, 4, 8, 0, 3, 1, 6, 7])
    #expect(!numbers.order.hasStartable(isFree: true))
  }

  @Test func `what a burst took goes back, and a few keep what they need`() {
    let numbers = Numbers()
    for priority: Int64 in [0, 5] {
      for number in 0..<6_000 { numbers.push(number, priority: priority) }
      _ = numbers.popAll()
      #expect(numbers.order.pointee.chunk(of: priority) == nil)
      for number in 0..<2 { numbers.push(number, priority: priority) }
      _ = numbers.popAll()
      #expect(numbers.order.pointee.chunk(of: priority)?.pointee.sizeClass == 0)
    }
  }

  @Test(arguments: [1, 2, 3]) func `random pushes and pops give what a sorted list gives`(seed: Int)
  {
    let numbers = Numbers()
    var random = SeededGenerator(seed: UInt64(seed))
    var model: [(priority: Int64, number: Int)] = []
    for number in 0..<4_000 {
      if Int.random(in: 0..<3, using: &random) > 0 {
        let priority = Int64.random(in: -20..<Int64(seed * seed * 40), using: &random)
        numbers.push(number, priority: priority)
        let place = model.firstIndex { $0.priority < priority } ?? model.count
        model.insert((priority, number), at: place)
      } else {
        let expected = model.isEmpty ? nil : model.removeFirst().number
        #expect(numbers.pop() == expected)
      }
    }
    #expect(numbers.popAll() == model.map(\.number))
  }

  @Test func `the urgent ones come before what is at the front, that before all priorities`() {
    let numbers = Numbers()
    numbers.push(0, priority: 9)
    numbers.putAtFront(1)
    #expect(numbers.pop() == 1)
    numbers.putAtFront(1)
    numbers.push(2, priority: OperationPlan.urgentLevel)
    #expect(numbers.popAll() == [2, 1, 0])
  }

  @Test func `no priority waits longer than its patience for a turn`() {
    let numbers = Numbers()
    var number = 0
    let priorities: [Int64] = [8, 3, 0, -1]
    // Whatever is started, more of each priority is left.
    for priority in priorities {
      for _ in 0..<3_000 {
        numbers.push(number, priority: priority)
        number += 1
      }
    }
    var waits = [0, 0, 0, 0]
    let longest = (Int(LaneOrder.patience) + 1) * (priorities.count - 1)
    for _ in 0..<2_500 {
      let started = numbers.pop(ages: true)! / 3_000
      for level in waits.indices { waits[level] = level == started ? 0 : waits[level] + 1 }
      for level in waits.indices { #expect(waits[level] <= longest) }
    }
  }

  @Test func `without others to wait for, patience changes nothing`() {
    let numbers = Numbers()
    for number in 0..<1_000 { numbers.push(number, priority: 4) }
    #expect(numbers.popAll(ages: true) == Array(0..<1_000))
  }
}

/// The delays between attempts.
@Suite struct RetryPolicyTests {
  @Test func `a delay grows by its factor up to its maximum`() {
    var policy = RetryPolicy()
    policy.delay = 100
    policy.factor = 2
    policy.maximumDelay = 1_000
    let delays = (1...6).map { policy.delay(afterAttempts: $0, chance: 0) }
    #expect(delays == [100, 200, 400, 800, 1_000, 1_000])
    policy.maximumDelay = 0
    #expect(policy.delay(afterAttempts: 4_000_000_000, chance: 0) == Int64.max)
    policy.factor = 1
    #expect(policy.delay(afterAttempts: 4_000_000_000, chance: 0) == 100)
  }

  @Test func `jitter leaves out at most its part of a delay`() {
    var policy = RetryPolicy()
    policy.delay = 1_000
    policy.jitter = 0.25
    #expect(policy.delay(afterAttempts: 1, chance: 0) == 1_000)
    #expect(policy.delay(afterAttempts: 1, chance: 0.5) == 875)
    #expect(policy.delay(afterAttempts: 1, chance: 0.999) >= 750)
  }
}
