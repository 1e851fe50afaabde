import TestSupport
import Testing

@testable import InteractionQueue

/// Interactions whose turn has come, and whose condition has side effects.
@Suite(.timeLimit(.minutes(1))) struct HiddenViewTests {
  @Test func `one whose condition hides the view is presented when that is back`() async {
    let stage = await Stage.visible()
    let asked = Counter()
    var events = stage.queue.events().makeAsyncIterator()
    let shown = stage.show(
      "shown",
      .with {
        $0.condition = {
          asked.up()
          if asked.value == 1 { stage.queue.onViewWillDisappear() }
          return nil
        }
      })
    let behind = stage.show("behind")
    await stage.advance(10_000)
    #expect(stage.noted() == [])
    #expect(asked.value == 1)
    #expect(shown.interaction.state == .pending)
    stage.queue.onViewDidAppear()
    await stage.advance(499)
    #expect(asked.value == 1)
    await stage.advance(1)
    #expect(stage.noted() == ["shown"])
    #expect(asked.value == 2)
    await shown.finish()
    #expect(await shown.interaction.waitForEnd() == .finished)
    var told: [String] = []
    while told.last != "ended 1 finished", let event = await events.next() {
      if event.operation?.number == 1 { told.append(event.text) }
    }
    #expect(
      told == ["enqueued 1", "started 1", "retrying 1", "started 1", "ended 1 finished"])
    await stage.advance(250)
    #expect(stage.noted() == ["behind"])
    await behind.finish()
  }

  @Test func `one whose condition suspends the queue is asked again and costs no gap`() async {
    let stage = await Stage.visible()
    let asked = Counter()
    stage.show(
      "shown",
      .with {
        $0.condition = {
          asked.up()
          if asked.value == 1 { stage.queue.suspend(for: "a call") }
          return asked.value == 1 ? nil : .skipped
        }
      })
    let next = stage.show("next")
    await stage.advance(10_000)
    stage.queue.resume(for: "a call")
    await Stage.settle()
    #expect(asked.value == 2)
    #expect(stage.noted() == ["next"])
    await next.finish()
  }

  @Test func `a condition that blocks is reported and its interaction cut off`() async {
    Reports.begin()
    let stage = await Stage.visible()
    let line = #line + 1
    let blocking = stage.queue.enqueue(
      .with {
        $0.maxRun = .seconds(10)
        $0.stall = .seconds(5)
        $0.condition = {
          stage.pass(10_000)
          return nil
        }
      }
    ) { _ in stage.note("blocking") }
    let next = stage.show("next")
    #expect(await blocking.waitForEnd() == .timedOut(.maxRun))
    await stage.advance(250)
    #expect(stage.noted() == ["next"])
    let messages = await Reports.told("InteractionQueueTests/HiddenViewTests.swift:\(line)")
    #expect(messages.map(\.kind) == [.stall])
    await next.finish()
  }
}
