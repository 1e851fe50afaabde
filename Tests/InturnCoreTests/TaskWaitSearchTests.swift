import TestSupport
import Testing

@testable import InturnCore

@Suite struct TaskWaitSearchTests {
  private typealias Wait = TaskWaitSearch.Wait

  private static func queue(_ number: Int) -> Handle {
    Handle(.queue, index: UInt32(number + 1), generation: 1)
  }

  private static func holder(_ queue: Int, _ operation: Int) -> TaskWaitSearch.Holder {
    TaskWaitSearch.Holder(queue: Self.queue(queue), operation: UInt(operation))
  }

  /// Whether the first wait can end: tries each way in which the waits may end one after the other.
  private static func canEnd(_ waits: [Wait]) -> Bool {
    var left = Set(waits.indices)
    func isTaken(_ need: TaskWaitSearch.Need) -> Bool {
      let held = Set(left.flatMap { waits[$0].holders }.filter { $0.queue == need.queue })
      guard let operation = need.operation else { return held.count >= need.places }
      return held.contains { $0.operation == operation }
    }
    while let next = left.first(where: { !waits[$0].needs.contains(where: isTaken) }) {
      left.remove(next)
    }
    return !left.contains(0)
  }

  /// Two queues, one with one place and one with two, and up to three waits, each in one operation
  /// and for one thing: all there are.
  @Test func `a wait is refused exactly if it cannot end, in every small state`() {
    let holders = [(0, 1), (1, 2), (1, 3)].map { Self.holder($0.0, $0.1) }
    let inside = [
      [holders[0]], [holders[1]], [holders[2]], [holders[0], holders[1]], [holders[1], holders[2]],
    ]
    let needs: [TaskWaitSearch.Need] =
      [.place(in: Self.queue(0)), .place(in: Self.queue(1), outOf: 2), .place(in: Self.queue(1))]
      + holders.map { .end(of: $0) }
    let kinds = inside.flatMap { holders in needs.map { Wait(holders: holders, needs: [$0]) } }
    var refused = 0
    func check(_ waits: [Wait]) {
      let ring = TaskWaitSearch.ring(of: waits)
      #expect((ring == nil) == Self.canEnd(waits), "\(waits)")
      if let ring {
        refused += 1
        #expect(ring[0] == waits[0].needs[0].queue)
      }
    }
    for first in kinds {
      check([first])
      for (index, second) in kinds.enumerated() {
        check([first, second])
        for third in kinds[index...] { check([first, second, third]) }
      }
    }
    #expect(refused > 0)
  }

  @Test func `random states agree, with several things needed by one wait`() {
    var random = SeededGenerator(seed: 16)
    for _ in 0..<scaled(5_000) {
      let places = (0..<4).map { _ in Int.random(in: 1...3, using: &random) }
      let waits = (0..<Int.random(in: 1...8, using: &random)).map { _ in
        let holders = (0..<Int.random(in: 1...2, using: &random)).map { _ in
          let operation = Int.random(in: 0..<12, using: &random)
          return Self.holder(operation % 4, operation)
        }
        let needs = (0..<Int.random(in: 0...2, using: &random)).map { _ -> TaskWaitSearch.Need in
          let operation = Int.random(in: 0..<12, using: &random)
          if Bool.random(using: &random) { return .end(of: Self.holder(operation % 4, operation)) }
          return .place(in: Self.queue(operation % 4), outOf: places[operation % 4])
        }
        return Wait(holders: holders, needs: needs)
      }
      #expect((TaskWaitSearch.ring(of: waits) == nil) == Self.canEnd(waits), "\(waits)")
    }
  }

  @Test func `a ring of thousands is found, and named in order`() {
    let count = 5_000
    var waits = (0..<count).map {
      Wait(
        holders: [Self.holder($0, $0)], needs: [.place(in: Self.queue(($0 + 1) % count))])
    }
    #expect(TaskWaitSearch.ring(of: waits) == (1...count).map { Self.queue($0 % count) })
    waits[count - 1].needs = []
    #expect(TaskWaitSearch.ring(of: waits) == nil)
  }
}
