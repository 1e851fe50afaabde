import Testing

@testable import AsyncTaskPerformer

/// A list's machine in every state that up to four operations can lead to.
@Suite struct BatchMachineTests {
  struct BatchWorld: World {
    var machine: BatchMachine
    var running: Int
    /// How often the completion was called, with what, and what had been reported before.
    var completions = 0
    var completion: String?
    var hasReportedValue = false
    var hasReportedError = false

    init(count: Int) {
      machine = BatchMachine(count: count)
      running = count
    }

    mutating func complete(_ text: String) {
      completions += 1
      completion = text
    }

    func explore(_ events: inout Events<Self>) {
      events.event(running > 0) {
        if $0.machine.reportValue() { $0.hasReportedValue = true }
      }
      // An operation's error, or a cancel of all, which may come at any time.
      events.event {
        if $0.completions == 0 { $0.hasReportedError = true }
        if $0.machine.fail() { $0.complete("error") }
      }
      events.event(running > 0) {
        $0.running -= 1
        switch $0.machine.end() {
        case nil: break
        case .value?: $0.complete("value")
        case .nothing?: $0.complete("nothing")
        }
      }
    }
  }

  private let worlds = (1...4).flatMap { BatchWorld(count: $0).reachable() }

  @Test func `every completion is reached`() {
    #expect(Set(worlds.map(\.completion)) == [nil, "value", "nothing", "error"])
  }

  @Test func `the completion is called once, at the first error or when all have ended`() {
    for world in worlds {
      let isDue = world.running == 0 || world.hasReportedError
      #expect(world.completions == (isDue ? 1 : 0), "\(world)")
      #expect(world.machine.isCompleted == isDue, "\(world)")
    }
  }

  @Test func `an error is never taken for a success, nor nothing for a value`() {
    for world in worlds where world.completions == 1 {
      let expected =
        world.hasReportedError ? "error" : world.hasReportedValue ? "value" : "nothing"
      #expect(world.completion == expected, "\(world)")
    }
  }
}
