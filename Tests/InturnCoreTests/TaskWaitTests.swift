import TestSupport
import Testing

@testable import InturnCore

/// What `WaitGraph` refuses to tasks. Each queue is one of a stage of its own, so that tests do not
/// meet.
@Suite struct TaskWaitTests {
  private typealias Holder = TaskWait.Holder
  private typealias Need = TaskWait.Need

  /// Queues that run nothing: what is in them is said to be.
  private struct Stage: ~Copyable {
    let queues: [Handle]

    init(_ count: Int) {
      queues = (0..<count).map { number in
        "q\(number)".withCString {
          var options = QueueOptions(kind: .fifo)
          options.label = $0
          return Engine.createQueue(options, executor: Handle(bits: 0), clock: Handle(bits: 0)).1
        }
      }
    }

    deinit { for queue in queues { #expect(Engine.destroy(queue: queue) == .ok) } }

    func holder(_ queue: Int, _ operation: Int) -> Holder {
      // All addresses are multiples of eight.
      Holder(Engine.lane(queues[queue]), UInt(8 * (operation + 1)))
    }
  }

  /// A wait as a value.
  private struct Wait {
    var holders: [Holder]
    var needs: [Need]

    func enter() throws(WaitGraph.Deadlock) -> WaitGraph.Entry {
      let (holders, needs) = (holders, needs)
      return try WaitGraph.enter(TaskWait(inside: { holders }, needing: { needs }, at: .unknown))
    }
  }

  /// Whether the last wait can end: tries each order in which the waits may end.
  private static func canEnd(_ waits: [Wait]) -> Bool {
    var left = Set(waits.indices)
    func isTaken(_ need: Need) -> Bool {
      let held = Set(left.flatMap { waits[$0].holders })
      switch need {
      case .end(of: let holder): return held.contains(holder)
      case .place(in: let queue, outOf: let places):
        return held.count { $0.lane == UInt(bitPattern: Engine.lane(queue)) } >= places
      case .operation, .quiet, .batch: fatalError("not in these tests")
      }
    }
    while let next = left.first(where: { !waits[$0].needs.contains(where: isTaken) }) {
      left.remove(next)
    }
    return !left.contains(waits.count - 1)
  }

  /// Enters the waits in turn, up to the first that is refused, which has to be one that cannot end.
  /// Returns whether one was.
  private static func check(_ waits: [Wait]) -> Bool {
    var entries: [WaitGraph.Entry] = []
    defer { for entry in entries { WaitGraph.leave(entry) } }
    for (index, wait) in waits.enumerated() {
      let canEnd = canEnd(Array(waits[...index]))
      do throws(WaitGraph.Deadlock) {
        entries.append(try wait.enter())
        #expect(canEnd, "\(waits[...index])")
        if !canEnd { return false }
      } catch {
        #expect(!canEnd, "\(waits[...index])")
        return true
      }
    }
    return false
  }

  /// Two queues, one with one place and one with two, and up to three waits, each in one or two
  /// operations and for one thing: all combinations.
  @Test func `a wait is refused exactly if it cannot end, in every small state`() {
    let stage = Stage(2)
    let holders = [stage.holder(0, 1), stage.holder(1, 2), stage.holder(1, 3)]
    let inside = [
      [holders[0]], [holders[1]], [holders[2]], [holders[0], holders[1]], [holders[1], holders[2]],
    ]
    let needs: [Need] =
      [.place(in: stage.queues[0]), .place(in: stage.queues[1], outOf: 2)]
      + [.place(in: stage.queues[1])] + holders.map { .end(of: $0) }
    let kinds = inside.flatMap { holders in needs.map { Wait(holders: holders, needs: [$0]) } }
    var refused = 0
    for first in kinds {
      for second in kinds {
        for third in kinds where Self.check([first, second, third]) { refused += 1 }
      }
    }
    #expect(refused > 0 && refused < kinds.count * kinds.count * kinds.count)
  }

  @Test func `random states agree, with several things needed by one wait`() {
    let stage = Stage(4)
    var random = SeededGenerator(seed: 16)
    for _ in 0..<scaled(5_000) {
      let places = (0..<4).map { _ in Int.random(in: 1...3, using: &random) }
      let waits = (0..<Int.random(in: 1...8, using: &random)).map { _ in
        let holders = (0..<Int.random(in: 1...2, using: &random)).map { _ in
          let operation = Int.random(in: 0..<12, using: &random)
          return stage.holder(operation % 4, operation)
        }
        let needs = (0..<Int.random(in: 0...2, using: &random)).map { _ -> Need in
          let operation = Int.random(in: 0..<12, using: &random)
          if Bool.random(using: &random) { return .end(of: stage.holder(operation % 4, operation)) }
          return .place(in: stage.queues[operation % 4], outOf: places[operation % 4])
        }
        return Wait(holders: holders, needs: needs)
      }
      _ = Self.check(waits)
    }
  }

  @Test(arguments: [3, 500])
  func `a ring of hundreds is found, and named in order`(count: Int) throws {
    let stage = Stage(count)
    func wait(_ number: Int) throws(WaitGraph.Deadlock) -> WaitGraph.Entry {
      try Wait(
        holders: [stage.holder(number, number)],
        needs: [.place(in: stage.queues[(number + 1) % count])]
      ).enter()
    }
    var entries = try (0..<count - 1).map(wait)
    defer { for entry in entries { WaitGraph.leave(entry) } }
    var ring = ([count - 1] + (0..<count)).map { "queue \"q\($0)\"" }
    // The waiter, and the first and the last six.
    if count > 12 { ring = ring[...6] + ["\(count - 12) more"] + ring[(count - 5)...] }
    do throws(WaitGraph.Deadlock) {
      WaitGraph.leave(try wait(count - 1))
      Issue.record("it is not refused")
    } catch {
      let message = error.message.withCString { String(cString: $0) }
      #expect(message.hasSuffix(": " + ring.joined(separator: " waits for ")))
    }
    WaitGraph.leave(entries.removeFirst())
    WaitGraph.leave(try wait(count - 1))
  }

  @Test func `a wait looks at those that it depends on only if it is depended on`() throws {
    let count = 500
    let stage = Stage(2 * count + 2)
    var looks = 0
    func enter(_ holder: Int, needing queue: Int) throws -> WaitGraph.Entry {
      let (holder, need) = (stage.holder(holder, holder), Need.place(in: stage.queues[queue]))
      return try WaitGraph.enter(
        TaskWait(
          inside: {
            looks += 1
            return [holder]
          },
          needing: {
            looks += 1
            return [need]
          }, at: .unknown))
    }
    // All wait for one queue, then each for the one before it, and the first for nobody.
    var entries = try (1...count).map { try enter($0, needing: 0) }
    // Each asks for its own place at first, and twice for that and its needs.
    let own = 1 + 2 + 2
    #expect(looks <= own * count)
    looks = 0
    entries += try (count + 1...2 * count).map { number in
      try enter(number, needing: number == count + 1 ? 2 * count + 1 : number - 1)
    }
    // And each at the one that it depends on, and at none beyond, since nobody needs it.
    #expect(looks <= (own + 2) * count)
    // Who closes the ring looks at those in it, and is refused.
    #expect(throws: WaitGraph.Deadlock.self) { try enter(2 * count + 1, needing: 2 * count) }
    for entry in entries { WaitGraph.leave(entry) }
    // Nothing is left, so nothing is found.
    WaitGraph.leave(try enter(2 * count + 1, needing: 2 * count))
  }
}
