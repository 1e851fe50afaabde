import TestSupport
import Testing

@testable import AsyncOperation

/// The operation's machine in every state that any calls can lead to.
@Suite(.watched) struct OperationMachineTests {
  struct OperationWorld: World {
    var machine = OperationMachine()
    /// Threads whose task is to call observers.
    var tellers = 0
    /// The states that have been delivered.
    var told: [OperationState] = []
    var isTellingRunning = false
    var isTellingEnd = false
    /// Accepted ends, and starts that began something.
    var ends = 0
    var starts = 0
    /// How often a teller left with the work to be called.
    var calls = 0
    var wasEndedBeforeStart = false
    var wasCancelledBeforeStart = false
    /// A step was wrong.
    var hasErred = false

    mutating func start() {
      let hadOutcome = machine.outcome != nil
      let wasCancelled = machine.isCancelRequested
      if machine.start() {
        starts += 1
        tellers += 1
        wasEndedBeforeStart = hadOutcome
        wasCancelledBeforeStart = wasCancelled && !hadOutcome
      }
    }

    mutating func end(_ outcome: OperationEnd.Outcome) {
      let answer = machine.end(as: outcome)
      if answer == .refused { return }
      ends += 1
      if machine.outcome != outcome { hasErred = true }
      if answer == .tell { tellers += 1 }
    }

    mutating func step() {
      switch machine.nextStep() {
      case .tellRunning: isTellingRunning = true
      case .tellEnd(let wasRunning):
        isTellingEnd = true
        if wasRunning != (told == [.running]) { hasErred = true }
      case .leave(let isRunning):
        tellers -= 1
        if isRunning { calls += 1 }
      }
    }

    mutating func enter(_ state: OperationState) {
      machine.enter(state)
      told.append(state)
      isTellingRunning = false
      isTellingEnd = false
    }

    func explore(_ events: inout Events<Self>) {
      events.event { $0.start() }
      events.event { $0.end(.finished) }
      events.event { $0.end(.failed) }
      events.event { $0.end(.abandoned) }
      events.event { _ = $0.machine.cancel() }
      let isTelling = isTellingRunning || isTellingEnd
      events.event(tellers > 0 && !isTelling) { $0.step() }
      events.event(isTellingRunning) { $0.enter(.running) }
      events.event(isTellingEnd) { $0.enter(.ended) }
    }
  }

  private let worlds = OperationWorld().reachable()

  @Test func `every state of the machine is reached`() {
    #expect(worlds.count > 100)
    let outcomes = Set(worlds.map(\.machine.outcome))
    #expect(outcomes == [nil, .finished, .failed, .abandoned, .cancelled])
    #expect(Set(worlds.map(\.told)) == [[], [.running], [.ended], [.running, .ended]])
  }

  @Test func `states are told once, in order, by one thread at a time, and never before the start`()
  {
    for world in worlds {
      #expect(!world.hasErred, "\(world)")
      #expect(world.tellers <= 1, "\(world)")
      #expect([[], [.running], [.ended], [.running, .ended]].contains(world.told), "\(world)")
      if !world.machine.isStarted { #expect(world.told.isEmpty && world.tellers == 0, "\(world)") }
    }
  }

  @Test func `what there is to tell has a teller`() {
    for world in worlds where world.machine.isStarted && world.tellers == 0 {
      let last: OperationState = world.machine.outcome == nil ? .running : .ended
      #expect(world.told.last == last, "\(world)")
    }
  }

  @Test func `the first end is the only one, and a start is the only one`() {
    for world in worlds {
      #expect(world.starts <= 1, "\(world)")
      let isCancelled = world.machine.outcome == .cancelled
      #expect(
        world.ends + (isCancelled ? 1 : 0) == (world.machine.outcome == nil ? 0 : 1), "\(world)")
    }
  }

  @Test
  func `the work is called once at most, and never after an end or a cancel before the start`() {
    for world in worlds {
      #expect(world.calls <= 1, "\(world)")
      if world.wasEndedBeforeStart || world.wasCancelledBeforeStart {
        #expect(world.calls == 0 && !world.told.contains(.running), "\(world)")
      }
      if world.wasCancelledBeforeStart { #expect(world.machine.outcome == .cancelled, "\(world)") }
      let isLeft = world.machine.isStarted && world.tellers == 0 && world.machine.outcome == nil
      if isLeft { #expect(world.calls == 1, "\(world)") }
    }
  }
}
