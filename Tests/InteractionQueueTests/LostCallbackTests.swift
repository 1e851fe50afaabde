import AsyncOperation
import TestSupport
import Testing

@testable import InteractionQueue

/// Reports of interactions that do not end as they should.
@Suite(.timeLimit(.minutes(1))) struct LostCallbackTests {
  @Test func `a lost callback ends its interaction, names the line, and the queue goes on`() async {
    Reports.begin()
    let stage = await Stage.visible()
    let line = #line + 1
    let lost = stage.queue.add { _ in }
    #expect(await lost.waitForEnd() == .abandoned)
    let messages = await Reports.told("InteractionQueueTests/LostCallbackTests.swift:\(line)")
    #expect(messages.map(\.kind) == [.lostToken])
    let next = stage.show("next")
    await stage.advance(250)
    #expect(stage.noted() == ["next"])
    await next.finish()
  }

  @Test func `an interaction that stalls is reported and goes on`() async {
    Reports.begin()
    let stage = await Stage.visible()
    let line = #line + 1
    let shown = stage.queue.enqueue(.with { $0.stall = .seconds(10) }) {
      stage.keep($0)
    }
    await Stage.settle()
    await stage.advance(10_000)
    #expect(shown.state == .running)
    let messages = await Reports.told("InteractionQueueTests/LostCallbackTests.swift:\(line)")
    #expect(messages.map(\.kind) == [.stall])
    stage.kept.finish()
    #expect(await shown.waitForEnd() == .finished)
  }
}
