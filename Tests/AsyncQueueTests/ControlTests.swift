import AsyncQueue
import TestSupport
import Testing

@Suite(.watched) struct ControlTests {
  @Test(arguments: Caller.all)
  func `a suspended queue starts nothing, and suspends are counted`(caller: Caller) async throws {
    try await caller.call {
      let queue = FIFOQueue()
      let ran = Counter()
      queue.suspend()
      queue.suspend()
      for _ in 0..<10 { queue.enqueue { ran.add() } }
      queue.resume()
      #expect(queue.statistics.suspends == 1)
      let waiting = Task { await queue.run { ran.value } }
      await eventually("the body waits") { queue.statistics.pending == 11 }
      #expect(ran.value == 0)
      queue.resume()
      #expect(await waiting.value == 10)
    }
  }

  @Test func `a resume without a suspend stops`() async {
    await #expect(processExitsWith: .failure) { FIFOQueue().resume() }
  }

  // MARK: Capacity

  @Test(arguments: Caller.all)
  func `a full queue refuses, or lets wait in order until there is room`(
    caller: Caller
  ) async throws {
    try await caller.call {
      let queue = FIFOQueue(capacity: 2)
      let log = Log<Int>()
      queue.suspend()
      queue.enqueue { log.add(0) }
      try queue.tryEnqueue { log.add(1) }
      #expect(throws: QueueError.full) { try queue.tryEnqueue { log.add(-1) } }
      await #expect(throws: QueueError.full) {
        try await Task(on: queue) { () async throws in log.add(-1) }.value
      }
      let entered = Counter()
      let waiting = (2..<6).map { number in
        Task {
          while entered.value != number - 2 { await Task.yield() }
          entered.add()
          if number % 2 == 0 {
            try await queue.enqueueWhenRoom { log.add(number) }
          } else {
            try await queue.run { () async throws in log.add(number) }
          }
        }
      }
      await eventually("all wait") { entered.value == 4 }
      #expect(queue.statistics.pending == 2)
      queue.resume()
      for task in waiting { try await task.value }
      await queue.drain()
      #expect(log.entries.sorted() == Array(0..<6))
      #expect(log.entries.prefix(2) == [0, 1])
    }
  }

  @Test func `who waits for room may give up, and closing wakes all`() async throws {
    let queue = FIFOQueue(capacity: 1)
    queue.suspend()
    queue.enqueue {}
    let begun = Counter()
    let first = Task {
      begun.add()
      try await queue.enqueueWhenRoom {}
    }
    let second = Task {
      begun.add()
      try await queue.run { () async throws in }
    }
    await eventually("both wait") { begun.value == 2 }
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    queue.close()
    await #expect(throws: QueueError.closed) { try await second.value }
    queue.resume()
    await queue.drain()
    #expect(queue.statistics.finished == 1)
  }

  @Test func `who cannot throw waits for room although he is cancelled`() async throws {
    let queue = FIFOQueue(capacity: 1)
    queue.suspend()
    queue.enqueue {}
    let waiting = Task(executorPreference: InPlaceExecutor()) {
      withUnsafeCurrentTask { $0?.cancel() }
      return await queue.run { Task.isCancelled }
    }
    queue.resume()
    #expect(await waiting.value)
  }

  @Test func `many producers wait for room, and nothing is lost`() async throws {
    let queue = FIFOQueue(capacity: 3)
    let ran = Counter()
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<200 { try await queue.enqueueWhenRoom { ran.add() } }
        }
      }
      try await group.waitForAll()
    }
    await queue.drain()
    #expect(ran.value == 1_600)
  }

  @Test func `enqueue stops when the queue is full or closed`() async {
    await #expect(processExitsWith: .failure) {
      let queue = FIFOQueue(capacity: 1)
      queue.suspend()
      queue.enqueue {}
      queue.enqueue {}
    }
    await #expect(processExitsWith: .failure) {
      let queue = MainActorQueue()
      queue.close()
      queue.enqueue {}
    }
  }

  // MARK: Ending

  @Test func `a closed queue refuses, and what was accepted goes on`() async throws {
    let queue = FIFOQueue()
    let ran = Counter()
    queue.suspend()
    queue.enqueue { ran.add() }
    queue.close()
    queue.close()
    #expect(throws: QueueError.closed) { try queue.tryEnqueue {} }
    await #expect(throws: QueueError.closed) { try await queue.run { () async throws in } }
    await #expect(throws: QueueError.closed) {
      try await Task(on: queue) { () async throws in }.value
    }
    queue.resume()
    await queue.drain()
    #expect(ran.value == 1)
  }

  @Test func `drain returns what did not end in time, by the queue's clock`() async {
    let clock = ManualClock()
    let queue = FIFOQueue(name: "slow", clock: .manual(clock))
    let gate = Gate()
    let begun = Gate()
    Task(name: "running", on: queue) {
      begun.open()
      await gate.wait(for: "the test")
    }
    Task(name: "pending", on: queue) {}
    await begun.wait(for: "the operation to begin")
    let drained = Task(executorPreference: InPlaceExecutor()) {
      await queue.drain(timeout: .seconds(5))
    }
    clock.advance(by: .seconds(5))
    #expect(
      await drained.value == [
        OperationInfo(state: .running, name: "running"),
        OperationInfo(state: .pending, name: "pending"),
      ])
    let cancelled = Task { await queue.drain() }
    cancelled.cancel()
    #expect(await cancelled.value.count == 2)
    gate.open()
    #expect(await queue.drain() == [])
  }

  // MARK: Limits

  @Test func `an operation that waits too long never runs`() async throws {
    let clock = ManualClock()
    let queue = FIFOQueue(clock: .manual(clock))
    let onActorActor = Notes()
    let onActor = ActorQueue(of: onActorActor, clock: .manual(clock))
    defer { withExtendedLifetime(onActorActor) {} }
    let ran = Counter()
    queue.suspend()
    onActor.suspend()
    let limits = OperationLimits(maxWait: .seconds(1))
    try queue.tryEnqueue(limits: limits) { ran.add() }
    try onActor.tryEnqueue(limits: limits) { _ in ran.add() }
    let waiting = Task { try await queue.run(limits: limits) { _ = ran.add() } }
    await eventually("the body waits") { queue.statistics.pending == 2 }
    clock.advance(by: .milliseconds(999))
    #expect(queue.statistics.pending == 2)
    clock.advance(by: .milliseconds(1))
    await #expect(throws: QueueError.waitedTooLong) { try await waiting.value }
    queue.resume()
    onActor.resume()
    await queue.drain()
    await onActor.drain()
    #expect(ran.value == 0)
    #expect(queue.statistics.timedOut == 2)
    #expect(onActor.statistics.timedOut == 1)
  }

  @Test func `an operation that runs too long is cancelled, and holds its place`() async throws {
    let clock = ManualClock()
    let queue = FIFOQueue(clock: .manual(clock))
    let log = Log<Int>()
    let begun = Gate()
    let gate = Gate()
    try queue.tryEnqueue(limits: OperationLimits(maxRun: .seconds(1))) {
      begun.open()
      await untilCancelled()
      await gate.wait(for: "the test")
      log.add(1)
    }
    queue.enqueue { log.add(2) }
    await begun.wait(for: "the operation to begin")
    clock.advance(by: .seconds(1))
    #expect(queue.statistics.timedOut == 1)
    #expect(queue.statistics.pending == 1)
    gate.open()
    await queue.drain()
    #expect(log.entries == [1, 2])
  }

  @Test(arguments: [false, true])
  func `drain returns when the cancel handler of a body whose place is freed has`(
    isOnActor: Bool
  ) async throws {
    let clock = ManualClock()
    let actor = Notes()
    let fifo = FIFOQueue(clock: .manual(clock))
    let onActor = ActorQueue(of: actor, clock: .manual(clock))
    let (begun, cancelled, gate) = (Gate(), Gate(), Gate())
    let drains = TestSupport.Gate()
    let limits = OperationLimits(maxRun: .seconds(1), placeAfterMaxRun: .freed)
    @Sendable func body() async {
      await withTaskCancellationHandler {
        begun.open()
        await gate.wait(for: "the test")
      } onCancel: {
        cancelled.open()
        if !drains.pass() { Issue.record("waited in vain for the drain to begin") }
      }
    }
    if isOnActor {
      try onActor.tryEnqueue(limits: limits) { _ in await body() }
    } else {
      try fifo.tryEnqueue(limits: limits, body)
    }
    // Where it goes on, inside the handler: that holds a thread, and another one when the body is
    // just about to sleep, and there may be no third.
    let test = Task(executorPreference: InPlaceExecutor()) {
      await cancelled.wait(for: "the task to be cancelled")
      // The queue has nothing left but the handler that is being called.
      if isOnActor { await onActor.run { _ in } } else { await fifo.run {} }
      let drained = Gate()
      Task(executorPreference: InPlaceExecutor()) {
        await (isOnActor ? onActor : fifo).drain()
        drained.open()
      }
      drains.open()
      await drained.wait(for: "the drain")
      gate.open()
    }
    await begun.wait(for: "the operation to begin")
    clock.advance(by: .seconds(1))
    await test.value
  }

  @Test func `a place that is freed lets the next begin while the body goes on`() async throws {
    let clock = ManualClock()
    let queue = FIFOQueue(clock: .manual(clock))
    let begun = Gate()
    let gate = Gate()
    let next = Gate()
    let waiting = Task {
      try await queue.run(
        limits: OperationLimits(maxRun: .seconds(1), placeAfterMaxRun: .freed)
      ) {
        begun.open()
        await gate.wait(for: "the next operation")
      }
    }
    await begun.wait(for: "the body to begin")
    queue.enqueue { next.open() }
    clock.advance(by: .seconds(1))
    await next.wait(for: "the next operation")
    gate.open()
    await #expect(throws: QueueError.ranTooLong) { try await waiting.value }
  }

  // MARK: Looking

  @Test(arguments: Caller.all)
  func `statistics count what is pending, runs and has ended, by kind`(
    caller: Caller
  ) async throws {
    try await caller.call {
      let queue = FIFOQueue()
      let begun = Gate()
      let gate = Gate()
      for _ in 0..<5 { queue.enqueue {} }
      await queue.drain()
      #expect(queue.statistics.finished == 5)
      queue.enqueue {
        begun.open()
        await gate.wait(for: "the test")
      }
      await begun.wait(for: "the operation to begin")
      for _ in 0..<3 { queue.enqueue {} }
      var expected = QueueStatistics()
      expected.finished = 5
      expected.running = 1
      expected.pending = 3
      #expect(queue.statistics == expected)
      #expect(queue.operations.map(\.state) == [.running, .pending, .pending, .pending])
      gate.open()
      await queue.drain()
      try? await queue.run { () async throws in throw SomeError() }
      try? await queue.run { () async throws in throw CancellationError() }
      await queue.run {
        #expect(queue.statistics.running == 1)
        #expect(queue.operations.map(\.state) == [.running])
      }
      expected = QueueStatistics()
      expected.finished = 10
      expected.failed = 1
      expected.cancelled = 1
      #expect(queue.statistics == expected)
    }
  }

  @Test(arguments: Caller.all)
  func `events tell what happens, in order`(caller: Caller) async throws {
    try await caller.call {
      let queue = FIFOQueue()
      let events = queue.events()
      queue.suspend()
      queue.enqueue {}
      let failing = Task(name: "failing", on: queue) { () async throws in throw SomeError() }
      let cancelled = Task(name: "cancelled", on: queue) { () async throws in }
      cancelled.cancel()
      var seen: [QueueEvent] = []
      var iterator = events.makeAsyncIterator()
      func see(until last: QueueEvent) async {
        while let event = await iterator.next() {
          seen.append(event)
          if event == last { break }
        }
      }
      await see(until: .ended(name: "cancelled", .cancelled))
      queue.resume()
      _ = await failing.result
      await queue.run {}
      queue.close()
      await see(until: .closed)
      #expect(
        seen == [
          .suspended, .enqueued(name: nil), .enqueued(name: "failing"),
          .enqueued(name: "cancelled"), .ended(name: "cancelled", .cancelled), .resumed,
          .started(name: nil), .ended(name: nil, .finished), .started(name: "failing"),
          .ended(name: "failing", .failed), .enqueued(name: nil), .started(name: nil),
          .ended(name: nil, .finished), .closed,
        ])
    }
  }

  @Test func `events end when the queue is released`() async {
    func use() -> AsyncStream<QueueEvent> {
      let queue = FIFOQueue()
      let events = queue.events(bufferingNewest: 10)
      queue.close()
      return events
    }
    var seen: [QueueEvent] = []
    for await event in use() { seen.append(event) }
    #expect(seen == [.closed])
  }
}
