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

  /// Whether the first wait can end: tries each order in which the waits may end.
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

  /// Two queues, one with one place and one with two, and up to three waits, each in one operation and
  /// for one thing: all combinations.
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

  @Test func `a wait looks at no other one, unless it depends on it and is depended on`() throws {
    var looks = 0
    func enter(_ holder: Int, needing queue: Int) throws -> TaskWaitGraph.Entry {
      // Numbers that no queue of another test has.
      try TaskWaitGraph.enter {
        looks += 1
        return [Self.holder(1_000_000 + holder, holder)]
      } needing: { _ in
        looks += 1
        return [.place(in: Self.queue(1_000_000 + queue))]
      }
    }
    let count = 1_000
    // All wait for one queue, then each for the one before it.
    var entries = try (1...count).map { try enter($0, needing: 0) }
    entries += try (1...count).map { try enter(count + $0, needing: count + $0 - 1) }
    #expect(looks == 4 * count)
    // A wait that nobody waits for is not looked at; the one that closes the ring looks at those in it.
    entries.append(try enter(5 * count, needing: 6 * count))
    #expect(throws: TaskWaitGraph.Deadlock.self) { try enter(count, needing: 2 * count) }
    for entry in entries { TaskWaitGraph.leave(entry) }
    // Nothing is left, so nothing is found.
    TaskWaitGraph.leave(try enter(count, needing: 2 * count))
  }
}
