import TestSupport
import Testing

@testable import InteractionQueue

/// The async form, and the events.
@Suite(.timeLimit(.minutes(1))) struct PresentTests {
  struct Refusal: Error, Equatable {}

  @Test @MainActor func `present gives the value of its closure`() async throws {
    let stage = await Stage.visible()
    let granted = try await stage.queue.present {
      await Task.yield()
      return true
    }
    #expect(granted)
  }

  @Test @MainActor func `present throws what its closure throws and the queue goes on`() async {
    let stage = await Stage.visible()
    await #expect(throws: Refusal()) {
      try await stage.queue.present { throw Refusal() }
    }
    stage.show("next")
    await stage.advance(250)
    #expect(stage.noted() == ["next"])
  }

  @Test @MainActor func `interactions that suspend do not overlap`() async throws {
    let stage = await Stage.visible()
    let presenters = ["first", "second"].map { name in
      Task {
        try await stage.queue.present {
          stage.note("\(name) begins")
          await Task.yield()
          stage.note("\(name) ends")
        }
      }
    }
    try await presenters[0].value
    await stage.advance(250)
    try await presenters[1].value
    let noted = stage.noted()
    #expect(noted == ["first begins", "first ends", "second begins", "second ends"])
  }

  @Test @MainActor func `tasks of one actor are presented in the order of their calls`()
    async throws
  {
    let queue = InteractionQueue(label: "ordered", settleDelay: .zero, gap: .zero)
    queue.onViewDidAppear()
    let log = Log<Int>()
    let presenters = (0..<100).map { number in
      Task { try await queue.present { log.add(number) } }
    }
    for presenter in presenters { try await presenter.value }
    #expect(log.entries == Array(0..<100))
  }

  @Test @MainActor func `cancelling the task that waits cancels a pending interaction`() async {
    let stage = await Stage.visible()
    let running = stage.show("running")
    await Stage.settle()
    let task = Task { try await stage.queue.present { stage.note("never") } }
    await Stage.settle()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await running.finish()
    await stage.advance(1_000)
    #expect(stage.noted() == ["running"])
  }

  @Test @MainActor func `a task that is cancelled already presents nothing`() async {
    let stage = await Stage.visible()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await stage.queue.present { stage.note("never") }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(stage.queue.statistics == QueueStatistics())
    #expect(stage.noted() == [])
  }

  @Test @MainActor func `cancelling the task that waits cancels the closure's task`() async {
    let stage = await Stage.visible()
    let task = Task {
      try await stage.queue.present {
        stage.note("begins")
        while !Task.isCancelled { await Task.yield() }
        throw CancellationError()
      }
    }
    while stage.queue.statistics.running == 0 { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(stage.queue.statistics.cancelled == 1)
  }

  @Test @MainActor func `an interaction that ends without having been presented throws its end`()
    async
  {
    let stage = await Stage.visible()
    stage.queue.close()
    await #expect(throws: QueueError.closed) {
      try await stage.queue.present {}
    }
  }

  @Test func `events are told in order to everybody who reads them`() async {
    let stage = await Stage.visible()
    var first = stage.queue.events().makeAsyncIterator()
    var second = stage.queue.events().makeAsyncIterator()
    let line = #line + 1
    let interaction = stage.queue.add { markInteractionFinished in markInteractionFinished() }
    #expect(await interaction.waitForEnd() == .finished)
    var info = OperationInfo(
      state: .pending, label: "InteractionQueueTests/PresentTests.swift:\(line)", number: 1)
    var expected: [QueueEvent] = [.enqueued(info)]
    info.state = .running
    expected.append(.started(info))
    info.state = .ended
    expected += [.ended(info, .finished), .idle]
    for event in expected {
      #expect(await first.next() == event)
      #expect(await second.next() == event)
    }
  }

  // On the main actor, so that nothing is presented before all are added.
  @Test @MainActor func `a suppressed one and each end are told`() async {
    let stage = await Stage.visible()
    var events = stage.queue.events().makeAsyncIterator()
    let options = OperationOptions.with {
      $0.key = "service is down"
      $0.joins = true
    }
    let first = stage.show("first", options)
    stage.show("second", options)
    let third = stage.show("third", .with { $0.condition = { .skipped } })
    await Stage.settle()
    await first.finish()
    await stage.advance(250)
    #expect(await third.interaction.waitForEnd() == .skipped)
    var told: [String] = []
    while let event = await events.next(), event != .idle { told.append(event.text) }
    let expected = [
      "enqueued 1", "joined 2", "enqueued 3", "started 1", "ended 1 finished",
      "ended 2 finished (joined)", "started 3", "ended 3 finished (skipped)",
    ]
    #expect(told == expected)
  }

  @Test func `the events end with the queue`() async {
    var stage: Stage? = Stage()
    let events = stage!.queue.events()
    stage = nil
    for await event in events { Issue.record("\(event)") }
  }
}
