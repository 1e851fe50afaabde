import AsyncQueue
import ConcurrentKVO
import TestSupport
import Testing

/// A queue's states, observed like any value.
@Suite(.watched) struct StateTests {
  @Test func `each change is told in order`() async {
    let queue = FIFOQueue()
    // Two threads may report two states at the same time; each state has its own order.
    let (pending, running, suspended) = (Log<String>(), Log<String>(), Log<String>())
    let observations = [
      queue.states.pendingCount.observe { pending.add("\($0.old!) > \($0.new)") },
      queue.states.runningCount.observe { running.add("\($0.old!) > \($0.new)") },
      queue.states.isSuspended.observe { suspended.add("\($0.old!) > \($0.new)") },
    ]
    queue.suspend()
    queue.suspend()
    queue.enqueue {
      pending.add("work")
      running.add("work")
    }
    queue.enqueue { running.add("more") }
    queue.resume()
    queue.resume()
    await queue.drained()
    for await count in queue.states.runningCount.values() where count == 0 { break }
    queue.states.runningCount.drain()
    #expect(pending.entries == ["0 > 1", "1 > 2", "2 > 1", "work", "1 > 0"])
    // The thread that tells of the first end may tell of the second start as well, while "more"
    // runs on another one.
    #expect(
      running.entries.filter { $0 != "more" } == ["0 > 1", "work", "1 > 0", "0 > 1", "1 > 0"])
    #expect(running.entries.dropFirst(2).dropLast().contains("more"))
    #expect(suspended.entries == ["false > true", "true > false"])
    withExtendedLifetime(observations) {}
  }

  @MainActor final class Label { var text = "" }

  @Test @MainActor func `on the main actor, a state's observer uses what belongs to that`() async {
    let (queue, label) = (FIFOQueue(), Label())
    let observation = queue.states.isSuspended.observe(on: MainActor.shared) { change in
      label.text = change.new ? "suspended" : ""
    }
    queue.suspend()
    await eventually("it is told") { await label.text == "suspended" }
    withExtendedLifetime(observation) {}
  }

  @Test func `an operation says why it has not ended`() async throws {
    let queue = FIFOQueue(name: "uploads")
    let line = #line + 1
    queue.suspend()
    queue.enqueue {}
    let second = queue.enqueueTask {}
    let reason = second.why()
    #expect(reason?.kind == .stall)
    #expect(
      reason?.message.contains(
        "for queue \"uploads\": it is suspended (AsyncQueueTests/StateTests.swift:\(line)), "
          + "and has been for ") == true)
    #expect(reason?.message.hasSuffix(". 1 more waits in its queue.") == true)
    #expect(reason?.line == line)
    queue.resume()
    try await second.value
    #expect(second.why() == nil)
  }

  @Test(arguments: ["fifo", "actor", "main actor", "tasks"])
  func `progress ends at all of all, in every kind of queue`(kind: String) async throws {
    actor Target {}
    let target = Target()
    let fifo = FIFOQueue()
    let onActor = ActorQueue<Target>()
    onActor.adoptExecutionContext(of: target)
    let onMain = MainActorQueue()
    let queue: any WorkQueue =
      switch kind {
      case "fifo": fifo
      case "actor": onActor
      case "main actor": onMain
      default: FIFOQueue()
      }
    let progress = queue.states.progress
    let steps = Log<OperationProgress>()
    let gaps = Counter()
    let observation = progress.observe { change in
      if change.old != (steps.entries.last ?? OperationProgress(completed: 0, total: 0)) {
        gaps.add()
      }
      steps.add(change.new)
    }
    for number in 0..<500 {
      switch kind {
      case "fifo": fifo.enqueue { if number % 7 == 0 { await Task.yield() } }
      case "actor": onActor.enqueue { _ in if number % 7 == 0 { await Task.yield() } }
      case "main actor": onMain.enqueue { if number % 7 == 0 { await Task.yield() } }
      default: Task(on: queue as! FIFOQueue) {}
      }
    }
    await queue.drained()
    let all = OperationProgress(completed: 500, total: 500)
    for await step in progress.values() where step == all { break }
    progress.drain()
    #expect(gaps.value == 0)
    #expect(steps.entries.count >= 1000)
    #expect(queue.statistics.pending == 0)
    withExtendedLifetime(observation) {}
  }

  @Test func `states of one moment are seen together`() async {
    let queue = FIFOQueue()
    let errors = Counter()
    let observation = observe(queue.states, \.pendingCount, \.runningCount, \.progress) { change in
      let (pending, running, progress) = change.new
      if progress.total != progress.completed + pending + running { errors.add() }
    }
    for _ in 0..<2000 {
      queue.enqueue {}
      let (pending, running, progress) = snapshot(
        of: queue.states.pendingCount, queue.states.runningCount, queue.states.progress)
      if progress.total != progress.completed + pending + running { errors.add() }
    }
    await queue.drained()
    #expect(errors.value == 0)
    withExtendedLifetime(observation) {}
  }

  @Test func `states outlive the queue, and their sequences end`() async {
    var queue: FIFOQueue? = FIFOQueue()
    let states = queue!.states
    let pending = states.pendingCount
    queue?.suspend()
    for _ in 0..<3 { queue?.enqueue {} }
    var numbers = pending.values().makeAsyncIterator()
    #expect(await numbers.next() == 3)
    queue = nil
    var rest: [Int] = []
    while let number = await numbers.next() { rest.append(number) }
    #expect(rest == [2, 1, 0])
    #expect(pending.value == 0)
    #expect(pending.wait { $0 == 1 } == nil)
    #expect(pending.drain())
    // There is nothing to follow of a queue that is gone.
    #expect(states.progress.value == OperationProgress(completed: 0, total: 0))
    #expect(states.progress.wait { $0.total > 0 } == nil)
  }

  @Test func `an observer may use the queue that it observes`() async {
    let queue = FIFOQueue()
    let ran = Counter()
    let observation = queue.states.pendingCount.observe { change in
      if change.new == 1 && change.old == 0 && ran.value == 0 {
        queue.enqueue { ran.add() }
        #expect(queue.statistics.pending == 2)
      }
    }
    queue.suspend()
    queue.enqueue { ran.add() }
    queue.resume()
    await queue.drained()
    #expect(ran.value == 2)
    withExtendedLifetime(observation) {}
  }
}
