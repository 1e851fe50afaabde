import AsyncQueue
import Testing

@Suite struct DeadlockTests {
  private static func expectDeadlock(
    naming names: String..., sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
  ) async {
    do {
      try await body()
      Issue.record("it is refused", sourceLocation: sourceLocation)
    } catch QueueError.deadlock(let message) {
      for name in names {
        #expect(message.contains(name), sourceLocation: sourceLocation)
      }
    } catch {
      Issue.record("it throws \(error)", sourceLocation: sourceLocation)
    }
  }

  @Test(arguments: Caller.all)
  func `waiting for one's own FIFO queue throws, from each kind of operation`(
    caller: Caller
  ) async throws {
    try await caller.call {
      let queue = FIFOQueue(name: "own")
      let ended = Counter()
      let waitForOneself: @Sendable () async -> Void = {
        await Self.expectDeadlock(naming: "own") { try await queue.run { () async throws in } }
        await Self.expectDeadlock(naming: "own") {
          try await queue.enqueueAndWait { () async throws in }
        }
        ended.add()
      }
      queue.enqueue(waitForOneself)
      await Task(on: queue) { await waitForOneself() }.value
      await queue.run { await waitForOneself() }
      await queue.enqueueAndWait(waitForOneself)
      #expect(ended.value == 4)
    }
  }

  @Test func `waiting in a child task of the operation throws`() async {
    let queue = FIFOQueue(name: "parent's")
    await queue.run {
      await withTaskGroup { group in
        group.addTask {
          async let inner: Void = Self.expectDeadlock(naming: "parent's") {
            try await queue.run { () async throws in }
          }
          await inner
        }
      }
    }
  }

  @Test func `a task that is only created inside may wait, and its children too`() async {
    let queue = FIFOQueue()
    let log = Log<Int>()
    let task = await queue.run {
      Task {
        await queue.run { log.add(2) }
        async let child: Void = queue.run { log.add(3) }
        await child
      }
    }
    queue.enqueue { log.add(1) }
    await task.value
    #expect(log.entries.sorted() == [1, 2, 3])
  }

  @Test func `a ring of queues is refused, and named`() async throws {
    let first = FIFOQueue(name: "first")
    let second = FIFOQueue(name: "second")
    let inFirst = Gate()
    let inSecond = Gate()
    let refused = Counter()
    func meet(
      _ own: FIFOQueue, _ other: FIFOQueue, _ here: Gate, _ there: Gate
    ) async {
      await own.run {
        here.open()
        await there.wait(for: "the other queue's operation")
        do {
          try await other.run { () async throws in }
        } catch QueueError.deadlock(let message) {
          #expect(message.contains("first") && message.contains("second"))
          refused.add()
        } catch {
          Issue.record("it throws \(error)")
        }
      }
    }
    async let one: Void = meet(first, second, inFirst, inSecond)
    async let two: Void = meet(second, first, inSecond, inFirst)
    await one
    await two
    // The second wait closes the ring; the first one goes on when that has been refused.
    #expect(refused.value == 1)
  }

  @Test func `waits that only look like a ring are not refused`() async throws {
    let (first, second) = (FIFOQueue(), FIFOQueue())
    let onActorActor = Notes()
    let onActor = ActorQueue(of: onActorActor)
    defer { withExtendedLifetime(onActorActor) {} }
    try await first.run {
      try await second.run { () async throws in
        await onActor.run { _ in }
      }
      await onActor.run { _ in try? await second.run { () async throws in } }
    }
    await onActor.run { _ in await onActor.run { _ in } }
  }

  @Test func `where it cannot throw, it stops, and names the queue and the line`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = FIFOQueue(name: "mine")
      await queue.run { await queue.enqueueAndWait {} }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("mine"))
    #expect(message.contains("DeadlockTests.swift"))
  }

  @Test func `draining one's own queue stops instead of hanging`() async {
    await #expect(processExitsWith: .failure) {
      let queueActor = Notes()
      let queue = ActorQueue(of: queueActor)
      defer { withExtendedLifetime(queueActor) {} }
      await queue.run { _ in _ = await queue.drain() }
    }
    await #expect(processExitsWith: .failure) {
      let queue = FIFOQueue()
      await Task(on: queue) { _ = await queue.drain() }.value
    }
  }
}
