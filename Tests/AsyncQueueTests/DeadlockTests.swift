import AsyncQueue
import Foundation
import TestSupport
import Testing

@Suite(.watched) struct DeadlockTests {
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
    await queue.drained()
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
    // The second wait closes the ring; the first continues once that has been refused.
    #expect(refused.value == 1)
  }

  @Test func `a ring that two operations close at once is refused to one of them`() async {
    let ended = Gate()
    Task.detached {
      for _ in 0..<scaled(2000) { await Self.closeRingAtOnce() }
      ended.open()
    }
    await ended.wait(for: "one of the two operations to be refused, each time")
  }

  private static func closeRingAtOnce() async {
    let (first, second) = (FIFOQueue(), FIFOQueue())
    let (begun, refused) = (Counter(), Counter())
    @Sendable func meet(_ own: FIFOQueue, _ other: FIFOQueue) async {
      await own.run {
        begun.add()
        while begun.value < 2 { await Task.yield() }
        do throws(QueueError) {
          try await other.run { () async throws(QueueError) in }
        } catch {
          refused.add()
        }
      }
    }
    async let one: Void = meet(first, second)
    async let two: Void = meet(second, first)
    _ = await (one, two)
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

  @Test func `awaiting a task of one's own FIFO queue throws, in child tasks too`() async {
    let queue = FIFOQueue(name: "own")
    let cancellable = CancellableQueue(underlyingQueue: queue)
    let ended = Counter()
    await queue.run {
      let (one, other) = (Self.task(on: queue, ended), Self.task(on: cancellable, ended))
      let sure = Task(on: queue) { ended.add() }
      await Self.expectDeadlock(naming: "own", "DeadlockTests.swift") { try await one.value }
      await Self.expectDeadlock(naming: "own") { try await other.result.get() }
      await withTaskGroup { group in
        group.addTask { await Self.expectDeadlock(naming: "own") { try await one.value } }
      }
      withExtendedLifetime(sure) {}
    }
    await queue.drained()
    #expect(ended.value == 3)
  }

  private static func task(on queue: FIFOQueue, _ ended: Counter) -> Task<Void, any Error> {
    Task(on: queue) { () async throws in ended.add() }
  }

  private static func task(
    on queue: CancellableQueue<FIFOQueue>, _ ended: Counter
  ) -> Task<Void, any Error> {
    Task(on: queue) { () async throws in ended.add() }
  }

  @Test(arguments: [false, true])
  func `an operation with a task of its own that awaits one behind it throws`(
    isNamed: Bool
  ) async throws {
    let queue = FIFOQueue(name: "own")
    let name = isNamed ? "first" : nil
    let ended = Counter()
    let second = Box<Task<Void, any Error>>()
    let first = Task(name: name, on: queue) {
      let second = await second.wait(for: "the second task")
      await Self.expectDeadlock(naming: "own") { try await second.value }
      async let child: Void = Self.expectDeadlock(naming: "own") { try await second.value }
      await child
      ended.add()
    }
    second.fill(Self.task(on: queue, ended))
    await first.value
    await queue.drained()
    #expect(ended.value == 2)
  }

  @Test func `a task that awaits itself is told`() async {
    let notes = Notes()
    let (fifo, onActor) = (FIFOQueue(name: "fifo"), ActorQueue(of: notes, label: "actor's"))
    let (own, ownOnActor) = (Box<Task<Void, any Error>>(), Box<Task<Void, any Error>>())
    let one = Task(on: fifo) { () async throws in
      let own = await own.wait(for: "the task")
      await Self.expectDeadlock(naming: "fifo") { try await own.value }
    }
    let other = Task(on: onActor) { _ async throws in
      let own = await ownOnActor.wait(for: "the task")
      await Self.expectDeadlock(naming: "actor's") { try await own.value }
    }
    own.fill(one)
    ownOnActor.fill(other)
    await #expect(throws: Never.self) { try await one.value }
    await #expect(throws: Never.self) { try await other.value }
  }

  @Test func `a ring through awaited tasks is refused, and named`() async {
    let (first, second) = (FIFOQueue(name: "first"), FIFOQueue(name: "second"))
    let notes = Notes()
    let onActor = ActorQueue(of: notes)
    // Two tasks that wait for each other: the second wait is refused, and the first continues.
    let refused = Counter()
    @Sendable func wait(_ body: () async throws -> Void) async {
      do {
        try await body()
      } catch QueueError.deadlock(let message) {
        #expect(message.contains("first"))
        refused.add()
      } catch {
        Issue.record("it throws \(error)")
      }
    }
    @Sendable func waitInOther(_ inOther: Gate, _ inFirst: Gate) async {
      inOther.open()
      await inFirst.wait(for: "the first queue's operation")
      await wait { try await first.run { () async throws in } }
    }
    func waitInFirst(_ inOther: Gate, _ inFirst: Gate, for task: Task<Void, any Error>) async {
      await first.run {
        await inOther.wait(for: "the other queue's operation")
        inFirst.open()
        await wait { try await task.value }
      }
    }
    var (inOther, inFirst) = (Gate(), Gate())
    let blocker = Task(on: second) { [inOther, inFirst] in await waitInOther(inOther, inFirst) }
    let behind = Task(on: second) { () async throws in }
    await waitInFirst(inOther, inFirst, for: behind)
    await blocker.value
    #expect(refused.value == 1)
    (inOther, inFirst) = (Gate(), Gate())
    let other = Task(on: onActor) { [inOther, inFirst] _ async throws in
      await waitInOther(inOther, inFirst)
    }
    await waitInFirst(inOther, inFirst, for: other)
    await #expect(throws: Never.self) { try await other.value }
    #expect(refused.value == 2)
  }

  @Test func `what can end is awaited in an operation as ever`() async {
    let (queue, other) = (FIFOQueue(), FIFOQueue())
    let notes = Notes()
    let onActor = ActorQueue(of: notes)
    await queue.run {
      #expect(await Task { 1 }.value == 1)
      #expect(await Task(on: other) { 2 }.value == 2)
      let three = await Task(on: other) { () async throws in 3 }.result
      #expect((try? three.get()) == 3)
      #expect(await Task(on: onActor) { _ in await Task(on: onActor) { _ in 4 }.value }.value == 4)
      // A cancelled task leaves the queue.
      let cancelled = Task(on: queue) { () async throws in }
      cancelled.cancel()
      let result = await cancelled.result
      #expect(throws: CancellationError.self) { try result.get() }
    }
    let inside = await queue.run { Task(on: queue) { await Task(on: other) { 5 }.value } }
    #expect(await inside.value == 5)
  }

  @Test func `where the value cannot throw, it stops, and names the queue and the line`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = FIFOQueue(name: "mine")
      await Task(on: queue) { await Task(on: queue) {}.value }.value
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("mine"))
    #expect(message.contains("DeadlockTests.swift:"))
  }

  @Test func `a child task of each form is inside the operation`() async {
    let queue = FIFOQueue(name: "own")
    let onActor = ActorQueue(of: Notes())
    let refused = Counter()
    @Sendable func waitForOneself() async {
      await withTaskGroup { group in
        group.addTask {
          do { try await queue.run { () async throws in } } catch { refused.add() }
        }
      }
    }
    queue.enqueue(waitForOneself)
    await Task(on: queue) { await waitForOneself() }.value
    try? await Task(on: queue) { () async throws in await waitForOneself() }.value
    await queue.run {
      await waitForOneself()
      try? await Task(on: onActor) { (_) async throws in }.value
    }
    #expect(refused.value == 4)
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

  @Test func `what a closed queue refuses stops where its own operation waits for it`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Task.detached {
        try await Task.sleep(for: .seconds(20))
        exit(0)
      }
      let notes = Notes()
      let queue = ActorQueue(of: notes, label: "mine")
      await queue.enqueueAndWait { _ in
        queue.close()
        _ = await queue.enqueueAndWait { _ in 1 }
      }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("mine"))
    #expect(message.contains("DeadlockTests.swift"))
  }

  @Test func `a ring through a closed queue is refused`() async {
    let (first, second) = (FIFOQueue(name: "first"), FIFOQueue(name: "second"))
    let (begun, waits, ended) = (Gate(), Gate(), Gate())
    second.enqueue {
      begun.open()
      await waits.wait(for: "the first queue's operation to wait")
      await Self.expectDeadlock(naming: "first", "second") {
        try await first.run { () async throws in }
      }
    }
    await begun.wait(for: "the second queue's operation")
    second.close()
    // It is created when the operation waits.
    Task(executorPreference: InPlaceExecutor()) {
      await first.run { #expect(await second.enqueueAndWait { 1 } == 1) }
      ended.open()
    }
    waits.open()
    await ended.wait(for: "the first queue's operation")
  }

  @Test func `draining one's own queue is refused instead of hanging`() async {
    let notes = Notes()
    let (onActor, fifo) = (ActorQueue(of: notes), FIFOQueue())
    @Sendable func isRefused(_ queue: some WorkQueue) async -> Bool {
      do throws(QueueError) {
        try await queue.drain()
        return false
      } catch {
        guard case .deadlock = error else { return false }
        return true
      }
    }
    #expect(await onActor.run { _ in await isRefused(onActor) })
    #expect(await Task(on: fifo) { await isRefused(fifo) }.value)
  }
}
