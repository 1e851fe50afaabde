import AsyncQueue
import TestSupport
import Testing

@Suite(.watched) struct LifetimeTests {
  @Test(arguments: Caller.all)
  func `a queue that is released with work pending runs it, and then frees everything`(
    caller: Caller
  ) async throws {
    try await caller.call {
      let alive = Counter()
      let log = Log<Int>()
      let gate = Gate()
      func use() {
        let queue = FIFOQueue(name: "released")
        let onActorActor = Notes()
        let onActor = ActorQueue(of: onActorActor)
        defer { withExtendedLifetime(onActorActor) {} }
        let main = MainActorQueue()
        for number in 0..<100 {
          let tracked = Tracked(alive)
          queue.enqueue {
            if number == 0 { await gate.wait(for: "the queue to be released") }
            withExtendedLifetime(tracked) { log.add(number) }
          }
          onActor.enqueue { _ in withExtendedLifetime(tracked) {} }
          main.enqueue { withExtendedLifetime(tracked) {} }
          Task(on: queue) { withExtendedLifetime(tracked) {} }
          Task(on: queue) { () async throws in withExtendedLifetime(tracked) {} }
        }
      }
      use()
      gate.open()
      await eventually("everything is free") { alive.value == 0 }
      #expect(log.entries == Array(0..<100))
    }
  }

  @Test func `a queue that is released suspended runs what is pending`() async {
    let ran = Gate()
    func use() {
      let queue = FIFOQueue()
      queue.suspend()
      queue.suspend()
      queue.enqueue { ran.open() }
    }
    use()
    await ran.wait(for: "the operation")
  }

  @Test(arguments: ["fifo", "actor", "main actor"])
  func `a queue that is released suspended for reasons runs what is pending`(kind: String) async {
    let (ran, ranTask) = (Gate(), Gate())
    let notes = Notes()
    func suspend(_ queue: some WorkQueue) {
      queue.suspend(for: "no network")
      queue.suspend()
      queue.suspend(for: "no network")
      queue.suspend(for: "no power")
    }
    func use() {
      switch kind {
      case "fifo":
        let queue = FIFOQueue()
        suspend(queue)
        queue.enqueue { ran.open() }
        Task(on: queue) { ranTask.open() }
      case "actor":
        let queue = ActorQueue(of: notes)
        suspend(queue)
        queue.enqueue { _ in ran.open() }
        Task(on: queue) { _ in ranTask.open() }
      default:
        let queue = MainActorQueue()
        suspend(queue)
        queue.enqueue { ran.open() }
        queue.enqueue { ranTask.open() }
      }
    }
    use()
    await ran.wait(for: "the operation")
    await ranTask.wait(for: "the task")
    withExtendedLifetime(notes) {}
  }

  @Test(arguments: Caller.all)
  func `what a closure captures is gone when the next operation begins`(
    caller: Caller
  ) async throws {
    try await caller.call {
      let alive = Counter()
      let queue = FIFOQueue()
      for number in 0..<100 {
        let tracked = Tracked(alive)
        queue.enqueue { withExtendedLifetime(tracked) {} }
        if number % 10 == 9 {
          await queue.drained()
        }
      }
      await eventually("the closures are gone") { alive.value == 0 }
    }
  }

  @Test(arguments: Caller.all)
  func `cancelled operations free what they captured`(caller: Caller) async throws {
    try await caller.call {
      let alive = Counter()
      let queue = FIFOQueue()
      let onActorActor = Notes()
      let onActor = ActorQueue(of: onActorActor)
      defer { withExtendedLifetime(onActorActor) {} }
      queue.suspend()
      onActor.suspend()
      for _ in 0..<100 {
        let tracked = Tracked(alive)
        queue.enqueue { withExtendedLifetime(tracked) {} }
        onActor.enqueue { _ in withExtendedLifetime(tracked) {} }
      }
      queue.cancelAll()
      onActor.cancelAll()
      await eventually("the closures are gone") { alive.value == 0 }
      queue.resume()
      onActor.resume()
    }
  }

  @Test func `many short-lived queues leave nothing behind`() async {
    let alive = Counter()
    for _ in 0..<500 {
      let queue = FIFOQueue()
      let tracked = Tracked(alive)
      queue.enqueue { withExtendedLifetime(tracked) {} }
      await queue.run {}
    }
    await eventually("everything is free") { alive.value == 0 }
  }
}
