import AsyncQueue
import InturnCore
import TestSupport
import Testing

/// Waiting until a queue has done what it had, and asking what is left.
@Suite(.watched) struct QuietTests {
  @Test func `a wait for a queue that is gone by then ends`() async {
    let none = Handle(bits: 0)
    let (status, lane) = Engine.createQueue(
      QueueOptions(kind: .fifo), executor: none, clock: none)
    #expect(status == .ok)
    #expect(Engine.destroy(queue: lane) == .ok)
    #expect(await QuietWaits().wait(for: lane, within: .seconds(30), of: nil))
  }

  @Test func `what is refused and cancelled still waits until the queue has done what it had`()
    async
  {
    Reports.begin()
    let (queue, notes) = (FIFOQueue(label: "another closed one"), Notes())
    let (log, ofActor) = (Log<String>(), Log<String>())
    let onActor = ActorQueue(of: notes, label: "another closed one")
    queue.suspend()
    onActor.suspend()
    queue.enqueue { log.add("accepted") }
    onActor.enqueue { _ in ofActor.add("accepted") }
    queue.close()
    onActor.close()
    let late = [
      Task(on: queue) { log.add("late") == () },
      Task(name: "labelled", on: queue) { log.add("late") == () },
      Task(executorPreference: InPlaceExecutor()) { await queue.run { log.add("late") == () } },
      Task(on: onActor) { _ in ofActor.add("late") == () },
      Task { await onActor.run { _ in ofActor.add("late") == () } },
    ]
    for task in late { task.cancel() }
    #expect(await Reports.told("another closed one", count: 5).count == 5)
    // Time for what does not wait.
    for _ in 0..<1_000 { await Task.yield() }
    queue.resume()
    onActor.resume()
    for task in late { #expect(await task.value) }
    #expect(log.entries == ["accepted", "late", "late", "late"])
    #expect(ofActor.entries == ["accepted", "late", "late"])
  }
}
