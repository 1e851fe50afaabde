import ConcurrentKVO
import Foundation
import Testing

@testable import InteractionQueue

/// When interactions are presented, and how they end.
@Suite(.timeLimit(.minutes(1))) struct InteractionQueueTests {
  @Test func `work starts on the main queue and may be finished from any thread`() async {
    let stage = await Stage.visible()
    let interaction = stage.queue.add { markInteractionFinished in
      stage.note("on main: \(OperationQueue.current === OperationQueue.main)")
      DispatchQueue.global().async {
        markInteractionFinished()
        markInteractionFinished()
      }
    }
    #expect(await interaction.waitForEnd() == .finished)
    #expect(stage.noted() == ["on main: true"])
  }

  @Test func `a thousand interactions are presented one at a time in order`() async {
    let stage = await Stage.visible()
    var interactions: [QueuedOperation] = []
    for number in 0..<1_000 {
      interactions.append(
        stage.queue.add { markInteractionFinished in
          stage.note("\(number) appears")
          DispatchQueue.global().async {
            stage.note("\(number) disappears")
            markInteractionFinished()
          }
        })
    }
    for interaction in interactions {
      await stage.advance(250)
      #expect(await interaction.waitForEnd() == .finished)
    }
    let expected = (0..<1_000).flatMap { ["\($0) appears", "\($0) disappears"] }
    #expect(stage.noted() == expected)
  }

  @Test func `no more are shown than the rate lets`() async {
    let stage = await Stage.visible()
    stage.queue.setRate(maxStarts: 1, interval: .seconds(10))
    let interactions = (1...3).map { number in
      stage.queue.add { markInteractionFinished in
        stage.note("\(number)")
        markInteractionFinished()
      }
    }
    #expect(await interactions[0].waitForEnd() == .finished)
    #expect(stage.queue.statistics.nextStart == .milliseconds(10_500))
    await stage.advance(9_999)
    #expect(stage.noted() == ["1"])
    await stage.advance(1)
    #expect(await interactions[1].waitForEnd() == .finished)
    #expect(stage.noted() == ["2"])
    stage.queue.removeRate()
    #expect(await interactions[2].waitForEnd() == .finished)
    #expect(stage.queue.statistics.nextStart == nil)
  }

  @Test func `the first one waits for the settle delay and each later one for the gap`() async {
    let stage = Stage()
    let first = stage.show("first")
    let second = stage.show("second")
    await stage.advance(10_000)
    stage.queue.onViewDidAppear()
    await stage.advance(499)
    #expect(stage.noted() == [])
    await stage.advance(1)
    #expect(stage.noted() == ["first"])
    await first.finish()
    await stage.advance(249)
    #expect(stage.noted() == [])
    await stage.advance(1)
    #expect(stage.noted() == ["second"])
    await second.finish()
  }

  @Test func `an interaction's state and those of its queue are told, change by change`() async {
    let stage = Stage()
    let shown = stage.show("on screen")
    let observations = [
      shown.interaction.observedState.observe { stage.note("\($0.old!) > \($0.new)") },
      stage.queue.states.runningCount.observe { stage.note("running \($0.new)") },
    ]
    #expect(shown.interaction.observedState === shown.interaction.observedState)
    stage.queue.onViewDidAppear()
    await stage.advance(500)
    // Two values that change at once are reported in any order, both before the work is called.
    let beginning = stage.noted()
    #expect(beginning.last == "on screen")
    #expect(Set(beginning.dropLast()) == ["pending > running", "running 1"])
    await shown.finish()
    #expect(stage.noted().sorted() == ["running 0", "running > ended"])
    #expect(shown.interaction.observedState.value == .ended)
    withExtendedLifetime(observations) {}
  }

  @Test func `one that shows nothing costs no gap`() async {
    let stage = await Stage.visible()
    stage.queue.add { markInteractionFinished in markInteractionFinished() }
    let second = stage.show("second")
    await Stage.settle()
    #expect(stage.noted() == ["second"])
    await second.finish()
  }

  @Test func `a timer of an earlier appearance does not resume the queue early`() async {
    let stage = Stage()
    let shown = stage.show("shown")
    stage.queue.onViewDidAppear()
    await stage.advance(400)
    stage.queue.onViewWillDisappear()
    stage.queue.onViewDidAppear()
    await stage.advance(499)
    #expect(stage.noted() == [])
    await stage.advance(1)
    #expect(stage.noted() == ["shown"])
    await shown.finish()
  }

  @Test func `nothing is presented over a view that has disappeared during the gap`() async {
    let stage = await Stage.visible()
    let first = stage.show("first")
    let second = stage.show("second")
    await Stage.settle()
    await first.finish()
    await stage.advance(200)
    stage.queue.onViewWillDisappear()
    await stage.advance(10_000)
    #expect(stage.noted() == ["first"])
    stage.queue.onViewDidAppear()
    await stage.advance(500)
    #expect(stage.noted() == ["second"])
    await second.finish()
  }

  @Test func `a queue goes on when no reason to suspend it is left`() async {
    let stage = await Stage.visible()
    stage.queue.suspend(for: "a call")
    stage.queue.suspend(for: "a call")
    stage.queue.suspend(for: "a backup")
    let shown = stage.show("shown")
    stage.queue.resume(for: "a backup")
    stage.queue.resume(for: "a call")
    await Stage.settle()
    #expect(stage.noted() == [])
    stage.queue.resume(for: "a call")
    await Stage.settle()
    #expect(stage.noted() == ["shown"])
    await shown.finish()
  }

  @Test func `cancelling ends a pending one at once and asks a running one`() async {
    let stage = await Stage.visible()
    let running = stage.show("running")
    let pending = stage.show("pending")
    await Stage.settle()
    #expect(running.interaction.state == .running)
    #expect(pending.interaction.state == .pending)
    running.presentation.onCancel { _ in stage.note("cancelled") }
    pending.interaction.cancel()
    running.interaction.cancel()
    #expect(await pending.interaction.waitForEnd() == .cancelled(.request))
    await Stage.settle()
    #expect(stage.noted() == ["running", "cancelled"])
    #expect(running.presentation.isCancelled)
    #expect(running.interaction.state == .running)
    running.presentation.cancel()
    #expect(await running.interaction.waitForEnd() == .cancelled(.request))
    #expect(running.interaction.state == .ended)
  }

  @Test func `higher priorities come first and equal ones in order`() async {
    let stage = await Stage.visible()
    stage.queue.suspend(for: "the test")
    for (number, priority) in [0, 2, -1, 2, 0].enumerated() {
      stage.queue.enqueue(.with { $0.priority = Int32(priority) }) { token in
        stage.note("\(number)")
        token.finish()
      }
    }
    stage.queue.resume(for: "the test")
    await Stage.settle()
    #expect(stage.noted() == ["1", "3", "0", "4", "2"])
  }

  @Test func `an urgent one may take the place of the running one which comes again`() async {
    let stage = await Stage.visible()
    let shown = Shown()
    shown.interaction = stage.queue.enqueue { presentation in
      stage.note("form")
      shown.presentation = presentation
      presentation.onPreempt { reply in
        stage.note("gives way")
        reply.yield()
      }
    }
    await Stage.settle()
    stage.show("behind")
    let urgent = stage.show("urgent", .with { $0.isUrgent = true })
    await Stage.settle()
    await stage.advance(250)
    #expect(stage.noted() == ["form", "gives way", "urgent"])
    await urgent.finish()
    await stage.advance(250)
    #expect(stage.noted() == ["form"])
    await shown.finish()
    #expect(await shown.interaction.waitForEnd() == .finished)
    await stage.advance(250)
    #expect(stage.noted() == ["behind"])
  }

  @Test func `a condition is asked just before presenting`() async {
    let stage = await Stage.visible()
    let isGranted = Flag()
    let running = stage.show("running")
    let condition: @Sendable () -> OperationEnd? = {
      MainActor.assertIsolated()
      return isGranted.isSet ? .skipped : nil
    }
    let second = stage.show("second", .with { $0.condition = condition })
    let hopeless = stage.show("hopeless", .with { $0.condition = { .cancelled } })
    let last = stage.show("last")
    await Stage.settle()
    isGranted.set()
    await running.finish()
    await stage.advance(250)
    #expect(await second.interaction.waitForEnd() == .skipped)
    #expect(await hopeless.interaction.waitForEnd() == .cancelled(.condition))
    // Neither of them has caused a gap.
    #expect(stage.noted() == ["running", "last"])
    await last.finish()
  }

  @Test func `those of one key are presented once and end together`() async {
    let stage = await Stage.visible()
    let options = OperationOptions.with {
      $0.key = "service is down"
      $0.joins = true
    }
    let first = stage.show("first", options)
    let second = stage.show("second", options)
    await Stage.settle()
    let third = stage.show("third", options)
    await first.finish()
    #expect(await first.interaction.waitForEnd() == .finished)
    for shown in [second, third] {
      let end = await shown.interaction.waitForEnd()
      #expect(end.isFinished && end.cause == .joined)
    }
    #expect(stage.noted() == ["first"])
  }

  @Test func `resolving a key answers all that is pending of it`() async {
    let stage = await Stage.visible()
    let running = stage.show("running")
    let options = OperationOptions.with { $0.key = "microphone" }
    let asked = [stage.show("a", options), stage.show("b", options)]
    await Stage.settle()
    #expect(stage.queue.resolve(key: "microphone") == 2)
    for shown in asked { #expect(await shown.interaction.waitForEnd() == .resolved) }
    #expect(stage.queue.resolve(key: "microphone") == 0)
    await running.finish()
  }

  @Test func `when an owner goes away its interactions are cancelled`() async {
    let stage = await Stage.visible()
    var owner: Owner? = Owner(capacity: 2)
    let options = OperationOptions.with { [owner] in $0.owner = owner }
    let running = stage.show("running", options)
    let pending = stage.show("pending", options)
    let refused = stage.show("refused", options)
    #expect(await refused.interaction.waitForEnd() == .refused(.full))
    await Stage.settle()
    owner!.goAway()
    #expect(await pending.interaction.waitForEnd() == .cancelled(.owner))
    #expect(running.presentation.isCancelled)
    running.presentation.cancel()
    #expect(await running.interaction.waitForEnd() == .cancelled(.owner))
    owner = nil
  }

  @Test func `an interaction is on screen no longer than it may be`() async {
    let stage = await Stage.visible()
    let first = stage.show("first", .with { $0.maxRun = .seconds(5) })
    let second = stage.show("second")
    await Stage.settle()
    await stage.advance(5_000)
    #expect(await first.interaction.waitForEnd() == .timedOut(.maxRun))
    #expect(!first.presentation.finish())
    await stage.advance(250)
    #expect(stage.noted() == ["first", "second"])
    await second.finish()
  }

  @Test func `what an interaction queue cannot do is refused with what is true of it`() {
    let shown = Stage().show("barrier", .with { $0.isBarrier = true })
    #expect(shown.interaction.end == .refused(.unsupported))
    let text = "\(shown.interaction.end?.error ?? QueueError.noValue)"
    // It has priorities and urgent interactions.
    #expect(text.contains("OperationOptions says which queues have"))
  }

  @Test func `an interaction added after close or to a full queue has ended`() async {
    let full = Stage(capacity: 1)
    full.show("first")
    let second = full.show("second")
    #expect(await second.interaction.waitForEnd() == .refused(.full))
    let closed = Stage()
    closed.queue.close()
    let shown = closed.show("shown")
    #expect(shown.interaction.state == .ended)
    #expect(await shown.interaction.waitForEnd() == .refused(.closed))
    shown.interaction.cancel()
  }

  @Test func `a queue that is released ends what it has and lets go of everything`() async {
    final class Witness: Sendable {}
    weak var witness: Witness?
    var stage: Stage? = await Stage.visible()
    let pending: QueuedOperation
    do {
      let kept = Witness()
      witness = kept
      stage!.queue.suspend(for: "the test")
      pending = stage!.queue.add { _ in withExtendedLifetime(kept) {} }
    }
    #expect(witness != nil)
    stage = nil
    #expect(await pending.waitForEnd() == .cancelled(.queueReleased))
    #expect(witness == nil)
  }

  @Test func `closures go when the interaction has ended, whoever holds its handle`() async {
    final class Witness: Sendable {}
    weak var witness: Witness?
    let stage = await Stage.visible()
    let interaction: QueuedOperation
    do {
      let kept = Witness()
      witness = kept
      interaction = stage.queue.add { markInteractionFinished in
        withExtendedLifetime(kept) {}
        markInteractionFinished()
      }
    }
    #expect(await interaction.waitForEnd() == .finished)
    await Stage.settle()
    #expect(witness == nil)
  }

  @Test func `statistics count what there is`() async {
    let stage = await Stage.visible()
    let running = stage.show("running")
    stage.show("pending").interaction.cancel()
    stage.show("pending")
    await Stage.settle()
    let statistics = stage.queue.statistics
    #expect(statistics.pending == 1 && statistics.running == 1 && statistics.cancelled == 1)
    await running.finish()
    #expect(stage.queue.statistics.finished == 1)
  }
}
