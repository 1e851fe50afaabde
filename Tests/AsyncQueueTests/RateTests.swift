import AsyncQueue
import TestSupport
import Testing

@Suite(.watched) struct RateTests {
  /// The operations of a queue on a manual clock; the test waits until some number have ended.
  private final class Stage: Sendable {
    let clock = ManualClock()
    let ended = Counter()

    func add() { ended.add() }

    func expect(
      _ count: Int, of queue: any WorkQueue, next: Duration?,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async {
      await eventually("\(count) have ended", sourceLocation: sourceLocation) {
        queue.statistics.finished == count
      }
      #expect(queue.statistics.nextStart == next, sourceLocation: sourceLocation)
      #expect(ended.value == count, sourceLocation: sourceLocation)
    }
  }

  private func keepsItsRate(
    _ queue: any WorkQueue, _ stage: Stage, _ enqueue: () -> Void
  ) async {
    queue.setRate(maxStarts: 4, interval: .seconds(1), burst: 2)
    for _ in 0..<6 { enqueue() }
    await stage.expect(2, of: queue, next: .milliseconds(250))
    stage.clock.advance(by: .milliseconds(249))
    await stage.expect(2, of: queue, next: .milliseconds(250))
    stage.clock.advance(by: .milliseconds(1))
    await stage.expect(3, of: queue, next: .milliseconds(500))
    stage.clock.advance(by: .milliseconds(250))
    await stage.expect(4, of: queue, next: .milliseconds(750))
    queue.removeRate()
    await stage.expect(6, of: queue, next: nil)
  }

  @Test func `a queue's operations start no faster than its rate`() async {
    let stage = Stage()
    let queue = FIFOQueue(clock: stage.clock)
    await keepsItsRate(queue, stage) { queue.enqueue { stage.add() } }
  }

  @Test func `an actor's operations start no faster than its queue's rate`() async {
    let stage = Stage()
    actor Place {}
    let place = Place()
    let queue = ActorQueue(of: place, clock: stage.clock)
    await keepsItsRate(queue, stage) { queue.enqueue { _ in stage.add() } }
  }

  @Test func `run waits for the rate, too`() async {
    let stage = Stage()
    let queue = FIFOQueue(clock: stage.clock)
    queue.setRate(maxStarts: 1, interval: .seconds(1))
    await queue.run { stage.add() }
    let second = Task { await queue.run { stage.add() } }
    await eventually("the second waits") { queue.statistics.pending == 1 }
    #expect(stage.ended.value == 1)
    stage.clock.advance(by: .seconds(1))
    await second.value
    #expect(stage.ended.value == 2)
  }

  @Test func `the moment of the next start can be observed`() async {
    let stage = Stage()
    let queue = FIFOQueue(clock: stage.clock)
    queue.setRate(maxStarts: 1, interval: .seconds(1))
    #expect(queue.states.nextStart.value == nil)
    await queue.run {}
    await eventually("it is told") { queue.states.nextStart.value == .seconds(1) }
    stage.clock.advance(by: .seconds(1))
    await eventually("it is over") { queue.states.nextStart.value == nil }
  }

  @Test func `more starts than can be counted are no limit`() async {
    let queue = FIFOQueue()
    queue.setRate(maxStarts: .max, interval: .seconds(1), burst: .max)
    for _ in 0..<100 { await queue.run {} }
    #expect(queue.statistics.finished == 100)
  }

  @Test func `what is no rate stops`() async {
    await #expect(processExitsWith: .failure) {
      FIFOQueue().setRate(maxStarts: -1, interval: .seconds(1))
    }
    await #expect(processExitsWith: .failure) {
      FIFOQueue().setRate(maxStarts: 0, interval: .seconds(1))
    }
    await #expect(processExitsWith: .failure) {
      FIFOQueue().setRate(maxStarts: 1, interval: .zero)
    }
    await #expect(processExitsWith: .failure) {
      FIFOQueue().setRate(maxStarts: 1, interval: .seconds(1), burst: 0)
    }
  }
}
