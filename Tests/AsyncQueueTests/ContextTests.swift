import AsyncQueue
import TestSupport
import Testing

/// What the work inherits from the caller, and what it does not.
@Suite(.watched) struct ContextTests {
  @Test(arguments: Caller.all)
  func `the caller's task-local values reach the work, and nobody else's do`(
    caller: Caller
  ) async throws {
    let queue = Local.$number.withValue(42) { FIFOQueue() }
    let notes = Notes()
    let onActor = Local.$number.withValue(42) { ActorQueue(of: notes) }
    try await caller.call {
      let log = Log<[Int]>()
      for number in 0..<100 {
        let enqueue: @Sendable () -> Void = {
          queue.enqueue { log.add([0, number, Local.number]) }
          onActor.enqueue { _ in log.add([1, number, Local.number]) }
          MainActorQueue.shared.enqueue { log.add([2, number, Local.number]) }
        }
        if number % 3 == 0 {
          enqueue()
        } else {
          Local.$number.withValue(number, operation: enqueue)
        }
      }
      await queue.drained()
      await onActor.drained()
      await MainActorQueue.shared.enqueueAndWait {}
      for entry in log.entries { #expect(entry[2] == (entry[1] % 3 == 0 ? 0 : entry[1])) }
      for kind in 0..<3 {
        #expect(log.entries.filter { $0[0] == kind }.map { $0[1] } == Array(0..<100))
      }
      let fromTask = await Local.$number.withValue(7) {
        await Task(on: queue) { Local.number }.value
      }
      #expect(fromTask == 7)
    }
  }

  @Test func `task-local values of a thread outside of tasks reach the work`() async {
    let queue = FIFOQueue()
    let log = Log<Int>()
    await withCheckedContinuation { continuation in
      Threads.run {
        Local.$number.withValue(5) { queue.enqueue { log.add(Local.number) } }
        queue.enqueue { log.add(Local.number) }
        continuation.resume()
      }
    }
    await queue.drained()
    #expect(log.entries == [5, 0])
  }

  @Test(arguments: Caller.all)
  func `an operation that enqueues gives no frame of ours away`(caller: Caller) async throws {
    try await caller.call {
      let (first, second) = (FIFOQueue(), FIFOQueue())
      let log = Log<Int>()
      for number in 0..<10 {
        first.enqueue { second.enqueue { log.add(number) } }
      }
      await first.drained()
      await second.drained()
      #expect(log.entries == Array(0..<10))
    }
  }

  @Test(arguments: Caller.all)
  func `the caller's priority is kept`(caller: Caller) async throws {
    let queue = FIFOQueue()
    let log = Log<UInt8>()
    let priorities: [TaskPriority] = [.background, .high, .utility, .high, .medium]
    for priority in priorities {
      // Nobody awaits the task, which would raise its priority.
      let done = Gate()
      Task.detached(priority: priority) {
        caller.enqueueHere {
          queue.enqueue {
            log.add(Task.currentPriority.rawValue)
            done.open()
          }
        }
      }
      await done.wait(for: "the operation")
    }
    #expect(log.entries == priorities.map(\.rawValue))
    let owned = FIFOQueue(priority: .utility)
    owned.enqueue { log.add(Task.currentPriority.rawValue) }
    await owned.drained()
    #expect(log.entries.last == TaskPriority.utility.rawValue)
  }

  @Test func `awaiting an operation of low priority escalates it`() async {
    let queue = FIFOQueue()
    let escalated = Gate()
    let begun = Gate()
    let task = Task(priority: .background, on: queue) {
      await withTaskPriorityEscalationHandler {
        begun.open()
        await escalated.wait(for: "the escalation")
      } onPriorityEscalated: { _, _ in
        escalated.open()
      }
      return Task.currentPriority
    }
    await begun.wait(for: "the operation to begin")
    #expect(await Task.detached(priority: .high) { await task.value }.value >= .high)
  }

  @Test func `what runs before an awaited operation is escalated, too`() async {
    let queue = FIFOQueue()
    let gate = Gate()
    let escalated = Gate()
    let begun = Gate()
    Task.detached(priority: .background) {
      Task(priority: .background, on: queue) {
        await withTaskPriorityEscalationHandler {
          begun.open()
          await gate.wait(for: "the escalation")
        } onPriorityEscalated: { _, priority in
          if priority >= .high { escalated.open() }
        }
      }
    }
    await begun.wait(for: "the operation to begin")
    let waiting = Task.detached(priority: .high) { await queue.run {} }
    await escalated.wait(for: "the running operation's escalation")
    gate.open()
    await waiting.value
  }

  @Test func `names are those that were given`() async {
    let queue = FIFOQueue(name: "names")
    #expect(queue.label == "names")
    let name = await Task(name: "mine", on: queue) { Task.name }.value
    #expect(name == "mine")
    queue.suspend()
    let task = Task(name: "pending", on: queue) {}
    #expect(queue.list() == [OperationInfo(state: .pending, label: "pending")])
    queue.resume()
    await task.value
  }

  @Test func `a body prefers no executor, nor do its child tasks`() async {
    @Sendable func prefersOne() -> Bool {
      withUnsafeCurrentTask { $0?.unownedTaskExecutor != nil }
    }
    let queue = FIFOQueue()
    let found = await Task.detached {
      await Task(on: queue) {
        async let child = prefersOne()
        let inGroup = await withTaskGroup { group in
          group.addTask { prefersOne() }
          return await group.next()!
        }
        await Task.yield()
        let inTask = await Task { prefersOne() }.value
        return [prefersOne(), await child, inGroup, inTask]
      }.value
    }.value
    #expect(found == [false, false, false, false])
  }
}
