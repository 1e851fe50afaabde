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

  @Test func `what comes after a queue was quiet is not returned by a drain that was in time`()
    async throws
  {
    let (queue, executor) = (FIFOQueue(), PatientExecutor())
    queue.suspend()
    queue.enqueue {}
    let drain = Task(executorPreference: executor) { try await queue.drain(timeout: .seconds(60)) }
    executor.run(0)
    queue.resume()
    await eventually("the drain goes on") { executor.count == 2 }
    queue.suspend()
    queue.enqueue {}
    executor.run(1)
    #expect(try await drain.value == [])
    queue.resume()
  }

  @Test func `a drain for no time only asks, inside an operation too`() async throws {
    let queue = FIFOQueue(clock: ManualClock())
    #expect(try await queue.drain(timeout: .zero) == [])
    let rest = try await queue.run { () async throws in try await queue.drain(timeout: .zero) }
    #expect(rest == [OperationInfo(state: .running)])
  }

  @Test func `a list of a few has those that its queue knows`() async throws {
    let (notes, gate, begun) = (Notes(), Gate(), Counter())
    let onActor = ActorQueue(of: notes)
    let running = (0..<3).map { number in
      onActor.enqueueTask(.with { $0.label = "number \(number)" }) { _ in
        begun.add()
        await gate.wait(for: "the test")
      }
    }
    await eventually("all have begun") { begun.value == 3 }
    #expect(onActor.list(atMost: 2).map(\.label) == onActor.list().prefix(2).map(\.label))
    #expect(onActor.list(atMost: 1).first?.label != nil)
    gate.open()
    for operation in running { _ = await operation.waitForEnd() }
    withExtendedLifetime(notes) {}
  }
}
