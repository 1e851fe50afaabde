import Foundation
import TestSupport
import Testing

@testable import InteractionQueue

/// What goes wrong around an interaction: the queue continues.
@Suite(.timeLimit(.minutes(1))) struct MishapTests {
  @Test func `a second finish says so and leaves the next one alone`() async {
    let stage = await Stage.visible()
    let first = stage.show("first")
    let second = stage.show("second")
    await Stage.settle()
    #expect(first.presentation.finish())
    await stage.advance(250)
    #expect(!first.presentation.finish())
    #expect(!first.presentation.cancel())
    #expect(!first.presentation.yield())
    #expect(second.interaction.state == .running)
    await second.finish()
    #expect(await second.interaction.waitForEnd() == .finished)
  }

  @Test func `after its queue is gone an interaction is not finished any more`() async {
    var stage: Stage? = await Stage.visible()
    let shown = Shown()
    // The interaction does not keep the stage alive.
    shown.interaction = stage!.queue.enqueue { shown.presentation = $0 }
    await Stage.settle()
    stage = nil
    #expect(await shown.interaction.waitForEnd() == .cancelled(.queueReleased))
    #expect(shown.presentation.isCancelled)
    #expect(!shown.presentation.finish())
  }

  @Test func `an interaction whose view is gone is finished and the next one waits`() async {
    let stage = await Stage.visible()
    let first = stage.show("first")
    let second = stage.show("second")
    await Stage.settle()
    stage.queue.onViewWillDisappear()
    #expect(!first.presentation.isCancelled)
    await first.finish()
    #expect(await first.interaction.waitForEnd() == .finished)
    await stage.advance(10_000)
    #expect(stage.noted() == ["first"])
    #expect(second.interaction.state == .pending)
  }

  @Test func `a thread that serves signals finishes an interaction`() async {
    let stage = await Stage.visible()
    let shown = stage.show("shown")
    let next = stage.show("next")
    await Stage.settle()
    let serving = Protected<pthread_t?>(nil)
    let isReady = Gate()
    Thread.detachNewThread {
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGUSR1)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      serving.withLock { $0 = pthread_self() }
      isReady.open()
      var number: Int32 = 0
      sigwait(&signals, &number)
      if number == SIGUSR1 { shown.presentation.finish() }
    }
    try? #require(isReady.pass())
    serving.withLock { _ = pthread_kill($0!, SIGUSR1) }
    #expect(await shown.interaction.waitForEnd() == .finished)
    await stage.advance(250)
    #expect(stage.noted() == ["shown", "next"])
    await next.finish()
  }

  @Test func `one that is added with a dead owner has ended`() async {
    let stage = await Stage.visible()
    let owner = Owner()
    owner.goAway()
    owner.goAway()
    let shown = stage.show("shown", .with { $0.owner = owner })
    #expect(shown.interaction.state == .ended)
    #expect(shown.interaction.end == .refused(.owner))
    #expect(stage.noted() == [])
  }

  @Test func `an owner that dies while presenting frees the queue when the handler gives in`()
    async
  {
    let stage = await Stage.visible()
    var owner: Owner? = Owner()
    let shown = stage.show("shown", .with { [owner] in $0.owner = owner })
    let next = stage.show("next")
    await Stage.settle()
    shown.presentation.onCancel { $0.cancel() }
    // Releasing the last reference ends the owner.
    owner = nil
    #expect(await shown.interaction.waitForEnd() == .cancelled(.owner))
    await stage.advance(250)
    #expect(stage.noted() == ["shown", "next"])
    await next.finish()
  }

  @Test func `handlers that answer do not keep a lost presentation from being noticed`() async {
    let stage = await Stage.visible()
    let lost = stage.queue.enqueue { presentation in
      presentation.onCancel { $0.cancel() }
      presentation.onPreempt { $0.yield() }
    }
    #expect(await lost.waitForEnd() == .abandoned)
  }

  @Test func `a handler that is set after the cut-off is called, on the main thread`() async {
    let stage = await Stage.visible()
    let shown = stage.show("shown", .with { $0.maxRun = .seconds(2) })
    await Stage.settle()
    await stage.advance(2_000)
    #expect(await shown.interaction.waitForEnd() == .timedOut(.maxRun))
    shown.presentation.onCancel { _ in stage.note("cut off") }
    await Stage.settle()
    #expect(stage.noted() == ["shown", "cut off"])
    shown.presentation.finish()
    shown.presentation.onCancel { _ in stage.note("never") }
    await Stage.settle()
    #expect(stage.noted() == [])
  }

  @Test func `a grace time ends what does not give in`() async {
    let stage = await Stage.visible()
    let shown = stage.show("shown", .with { $0.cancelGrace = .seconds(2) })
    await Stage.settle()
    shown.interaction.cancel()
    await stage.advance(1_999)
    #expect(shown.interaction.state == .running)
    await stage.advance(1)
    #expect(await shown.interaction.waitForEnd() == .cancelled(.grace))
  }

  @Test func `one that waits too long ends`() async {
    let stage = Stage()
    let shown = stage.show("shown", .with { $0.maxWait = .seconds(2) })
    await stage.advance(2_000)
    #expect(await shown.interaction.waitForEnd() == .timedOut(.maxWait))
    #expect(stage.noted() == [])
  }
}
