import Testing

@testable import InturnCore

/// A batch's decision for every combination and order of the ends of a few operations.
@Suite struct BatchDecisionTests {
  struct BatchWorld: World {
    var decision: BatchDecision
    /// By place in the list.
    var ends: [Outcome?]
    /// The places, in the order of their ends.
    var order: [Int] = []
    /// How often the rest had to be cancelled, and after how many ends the first time.
    var stops = 0
    var stoppedAfter = 0

    init(policy: BatchPolicy, count: Int, enough: Int) {
      decision = BatchDecision(policy: policy, count: count, enough: enough)
      ends = Array(repeating: nil, count: count)
    }

    func explore(_ events: inout Events<Self>) {
      for place in ends.indices where ends[place] == nil {
        for outcome in [Outcome.finished, .failed, .cancelled] {
          events.event {
            $0.ends[place] = outcome
            $0.order.append(place)
            if $0.decision.add(outcome, of: place) {
              $0.stops += 1
              $0.stoppedAfter = $0.order.count
            }
          }
        }
      }
      events.event(!decision.isCancelled && !decision.isOver) { $0.decision.isCancelled = true }
    }

    /// The ends in their order.
    var history: [(place: Int, outcome: Outcome)] { order.map { ($0, ends[$0]!) } }
    var unfinished: [Int] { ends.indices.filter { ends[$0] != .finished } }
  }

  private static func worlds(_ policy: BatchPolicy, count: Int, enough: Int = 0) -> [BatchWorld] {
    Array(BatchWorld(policy: policy, count: count, enough: enough).reachable())
  }

  @Test(arguments: BatchPolicy.allCases)
  func `the short way takes an end down as the long one does, or leaves it`(policy: BatchPolicy) {
    for world in Self.worlds(policy, count: 3, enough: 2) {
      for place in world.ends.indices where world.ends[place] == nil {
        var (short, long) = (world.decision, world.decision)
        let isTaken = short.addFinished()
        let stops = long.add(.finished, of: place)
        #expect(!isTaken || (short == long && !stops && !long.isOver))
        #expect(isTaken || short == world.decision)
      }
    }
  }

  @Test(arguments: 1...4) func `all must finish: the first in the list that did not decides`(
    count: Int
  ) {
    for world in Self.worlds(.all, count: count) where world.decision.isOver {
      #expect(world.decision.decidedBy == world.unfinished.first)
      #expect(world.stops == 0)
    }
  }

  @Test(arguments: 1...4) func `first error: the first to end badly decides and stops the rest`(
    count: Int
  ) {
    for world in Self.worlds(.firstError, count: count) {
      let first = world.history.first { $0.outcome != .finished }
      #expect(world.decision.decidedBy == first?.place)
      let isLast = first.map { world.order.firstIndex(of: $0.place)! == count - 1 } ?? false
      #expect(world.stops == (first == nil || isLast ? 0 : 1))
      if world.stops > 0 {
        #expect(world.order[world.stoppedAfter - 1] == first?.place)
      }
    }
  }

  @Test(arguments: 1...4) func `collect: nothing but its own cancelling keeps it from finishing`(
    count: Int
  ) {
    for world in Self.worlds(.collect, count: count) {
      #expect(world.stops == 0)
      if !world.decision.isCancelled { #expect(world.decision.outcome == .finished) }
      if world.decision.outcome != .finished { #expect(world.decision.outcome == .cancelled) }
    }
  }

  @Test(arguments: 1...4, 1...3) func `enough: it stops the rest when so many have finished`(
    count: Int, enough: Int
  ) {
    if enough > count { return }
    for world in Self.worlds(.enough, count: count, enough: enough) {
      let isEnough = world.decision.finished >= enough
      if world.decision.isOver {
        #expect((world.decision.outcome == .finished) == isEnough)
        #expect(world.decision.decidedBy == (isEnough ? nil : world.unfinished.first))
      }
      #expect(world.stops <= 1)
      if world.stops == 1 { #expect(isEnough) }
      if isEnough && world.stops == 0 {
        // Only the very last end made it enough.
        #expect(world.decision.isOver)
      }
    }
  }

  @Test(arguments: BatchPolicy.allCases) func `outcome and deciding place belong together`(
    policy: BatchPolicy
  ) {
    for world in Self.worlds(policy, count: 3, enough: 2) {
      let decision = world.decision
      #expect(decision.ended == world.order.count)
      #expect(decision.finished == world.history.count { $0.outcome == .finished })
      let expected = decision.decidedBy.map { world.ends[$0]! } ?? .finished
      #expect(decision.outcome == expected)
    }
  }
}
