import TestSupport
import Testing

@testable import AsyncQueue

/// Waiting for room in a full queue, and refusals.
@Suite(.watched) struct RoomTests {
  @Test func `room that was given is not lost with whom it was given to`() async throws {
    let queue = FIFOQueue(capacity: 1)
    queue.suspend()
    let pending = Task(on: queue) { () async throws in }
    let executor = PatientExecutor()
    let first = (0..<8).map { number in
      let task = Task(executorPreference: executor) { try await queue.enqueueWhenRoom {} }
      executor.run(number)
      return task
    }
    let isIn = Gate()
    Task(executorPreference: InPlaceExecutor()) {
      try await queue.enqueueWhenRoom {}
      isIn.open()
    }
    // All of them are waiting.
    pending.cancel()
    await eventually("the first one has been given the room") { executor.count > 8 }
    for task in first { task.cancel() }
    await eventually("all but the last one go on") { executor.count == 16 }
    // None of them has been resumed yet, which must not hold up the last one.
    queue.resume()
    await isIn.wait(for: "the last one")
    for number in 8..<16 { executor.run(number) }
    try await first[0].value
    for task in first.dropFirst() {
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    await queue.drained()
    #expect(queue.statistics.finished == 2)
  }

  @Test(arguments: Caller.all)
  func `who waits longest for room comes first, whoever comes meanwhile`(
    caller: Caller
  ) async throws {
    try await caller.call {
      for _ in 0..<50 {
        let queue = FIFOQueue(capacity: 1)
        let log = Log<Int>()
        queue.suspend()
        queue.enqueue {}
        let waiters = (1...4).map { number in
          Task(executorPreference: InPlaceExecutor()) {
            try await queue.enqueueWhenRoom { log.add(number) }
          }
        }
        let newcomers = Task.detached {
          for _ in 0..<50 { try await queue.enqueueWhenRoom {} }
        }
        queue.resume()
        for waiter in waiters { try await waiter.value }
        try await newcomers.value
        await queue.drained()
        #expect(log.entries == [1, 2, 3, 4])
      }
    }
  }

  @Test @MainActor func `tasks of one actor get room in the order of their calls`() async throws {
    let queue = FIFOQueue(capacity: 3)
    let log = Log<Int>()
    let callers = (0..<100).map { number in
      Task { try await queue.enqueueWhenRoom { log.add(number) } }
    }
    for caller in callers { try await caller.value }
    await queue.drained()
    #expect(log.entries == Array(0..<100))
  }

  @Test @MainActor func `tasks of one actor run in the order of their calls`() async {
    actor Owner {}
    let owner = Owner()
    let (fifo, actorQueue, main) = (FIFOQueue(), ActorQueue<Owner>(), MainActorQueue())
    actorQueue.adoptExecutionContext(of: owner)
    let logs = (0..<4).map { _ in Log<Int>() }
    let callers = (0..<100).flatMap { number in
      [
        Task { await fifo.run { logs[0].add(number) } },
        Task { await fifo.enqueueAndWait { logs[1].add(number) } },
        Task { await actorQueue.run { _ in logs[2].add(number) } },
        Task { await main.run { logs[3].add(number) } },
      ]
    }
    for caller in callers { await caller.value }
    for log in logs { #expect(log.entries == Array(0..<100)) }
  }

  @Test func `what is refused with limits leaves nothing behind`() async throws {
    func refuse() throws -> @Sendable () -> QueueCore? {
      let queue = FIFOQueue(capacity: 1)
      queue.suspend()
      queue.enqueue {}
      let limits = OperationOptions.with { $0.maxWait = .seconds(9) }
      for _ in 0..<10 {
        #expect(throws: QueueError.full) { try queue.tryEnqueue(limits) {} }
      }
      queue.cancelAll()
      return { [weak core = queue.core] in core }
    }
    let core = try refuse()
    await eventually("the queue is gone") { core() == nil }
  }

  @Test func `who has an owner that is full does not wait, nor does anybody behind`() async throws {
    let owner = Owner(capacity: 1)
    let options = OperationOptions.with { $0.owner = owner }
    let (first, queue, full) = (FIFOQueue(), FIFOQueue(), FIFOQueue(capacity: 1))
    first.suspend()
    let owned = first.enqueueTask(options) {}
    let refused = Task(executorPreference: InPlaceExecutor()) { try await queue.run(options) {} }
    #expect(try await queue.run { () async throws in 1 } == 1)
    try await queue.enqueueWhenRoom {}
    // The same behind others that wait for room.
    full.suspend()
    full.enqueue {}
    let waiting = Task(executorPreference: InPlaceExecutor()) { try await full.run(options) {} }
    let behind = Task(executorPreference: InPlaceExecutor()) { try await full.enqueueWhenRoom {} }
    full.resume()
    for task in [refused, waiting] {
      await #expect(throws: QueueError.full) { try await task.value }
    }
    try await behind.value
    first.resume()
    #expect(await owned.waitForEnd() == .finished)
    try await queue.run(options) {}
  }

  @Test func `who has given up waiting is not kept while others wait`() async throws {
    let queue = FIFOQueue(capacity: 1)
    queue.suspend()
    queue.enqueue {}
    let past = FIFOQueue()
    func wait() -> (task: Task<Void, any Error>, kept: WeakReference<QueuedOperation>) {
      let operation = past.enqueueTask {}
      let options = OperationOptions.with { $0.after = [operation] }
      let task = Task(executorPreference: InPlaceExecutor()) {
        try await queue.run(options) { () async throws in }
      }
      return (task, WeakReference(operation))
    }
    let first = wait().task
    let others = (0..<100).map { _ in wait() }
    let last = wait().task
    await past.drained()
    #expect(others.allSatisfy { $0.kept.object != nil })
    for other in others { other.task.cancel() }
    for (task, _) in others {
      await #expect(throws: CancellationError.self) { try await task.value }
    }
    await eventually("most of them are gone") { others.count { $0.kept.object != nil } <= 2 }
    queue.resume()
    try await first.value
    try await last.value
    await eventually("all of them are gone") { others.allSatisfy { $0.kept.object == nil } }
  }

  @Test func `only what was accepted is told as enqueued, and first of all`() async throws {
    let queue = FIFOQueue(capacity: 1)
    let events = queue.events()
    let gate = Gate()
    queue.enqueue { await gate.wait(for: "the refusals") }
    await eventually("it runs") { queue.statistics.running == 1 }
    queue.enqueue {}
    for _ in 0..<3 { #expect(throws: QueueError.full) { try queue.tryEnqueue {} } }
    let waiting = Task(executorPreference: InPlaceExecutor()) { try await queue.enqueueWhenRoom {} }
    gate.open()
    try await waiting.value
    await queue.drained()
    queue.close()
    #expect(throws: QueueError.closed) { try queue.tryEnqueue {} }
    var enqueued = 0
    var started = 0
    for await event in events {
      if event == .enqueued(nil) { enqueued += 1 }
      if event == .started(nil) { started += 1 }
      #expect(started <= enqueued)
      if event == .closed { break }
    }
    #expect(enqueued == 3)
    #expect(started == 3)
  }
}
