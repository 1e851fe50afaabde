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
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      FIFOQueue().resume()
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("resume() without a suspend()"))
  }

  @Test func `a drain for less than no time stops`() async {
    await #expect(processExitsWith: .failure) {
      _ = try await FIFOQueue().drain(timeout: .nanoseconds(-1))
    }
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
      await queue.drained()
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
    await queue.drained()
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
    await queue.drained()
    #expect(ran.value == 1_600)
  }

  @Test func `what cannot throw and is refused never runs where it gives nothing, and is reported`()
    async
  {
    Reports.begin()
    let ran = Counter()
    let full = FIFOQueue(label: "a full one", capacity: 1)
    full.suspend()
    full.enqueue {}
    full.enqueue { ran.add() }
    #expect(await Reports.told("a full one").map(\.kind) == [.refused])
    full.resume()
    await full.drained()

    let fifo = FIFOQueue(label: "a closed one")
    let notes = Notes()
    let onActor = ActorQueue(of: notes, label: "a closed one")
    let onMain = MainActorQueue(label: "a closed one")
    fifo.close()
    onActor.close()
    onMain.close()
    fifo.enqueue { ran.add() }
    onActor.enqueue { _ in ran.add() }
    onMain.enqueue { ran.add() }
    let work: @Sendable () -> Void = { ran.add() }
    await Task(on: fifo) { work() }.value
    await Task(name: "labelled", on: fifo) { work() }.value
    await Task(on: onActor) { _ in work() }.value
    await fifo.run { work() }
    await fifo.enqueueAndWait { work() }
    await onActor.run { _ in work() }
    await onMain.run { work() }
    #expect(
      await Reports.told("a closed one", count: 10).map(\.kind)
        == Array(repeating: .refused, count: 10))
    #expect(ran.value == 0)
  }

  @Test func `what has to give a value and is refused runs when the queue has done what it had`()
    async
  {
    Reports.begin()
    let queue = FIFOQueue(label: "one that has closed")
    let notes = Notes()
    let onActor = ActorQueue(of: notes, label: "one that has closed")
    let (gate, log) = (Gate(), Log<String>())
    queue.enqueue {
      await gate.wait(for: "the test")
      log.add("accepted")
    }
    queue.close()
    onActor.close()
    let late = [
      Task(on: queue) { () async -> Bool in
        log.add("late")
        return Task.isCancelled
      },
      Task(name: "labelled", on: queue) { () async -> Bool in
        log.add("late")
        return Task.isCancelled
      },
    ]
    let onItsActor = Task(on: onActor) { _ in Task.isCancelled }
    #expect(await onItsActor.value)
    let running = Task { await queue.run { log.add("late") == () } }
    gate.open()
    for task in late { #expect(await task.value) }
    #expect(await running.value)
    #expect(log.entries == ["accepted", "late", "late", "late"])
    #expect(await Reports.told("one that has closed", count: 4).count == 4)
  }

  @Test
  func `many threads enqueue while the queue is closed, and each operation runs or is refused`()
    async
  {
    Reports.begin()
    for round in 0..<20 {
      let queue = FIFOQueue(label: "closing \(round),")
      let ran = Counter()
      await withTaskGroup { group in
        for _ in 0..<4 {
          group.addTask {
            for number in 0..<50 {
              if number.isMultiple(of: 2) {
                queue.enqueue { ran.add() }
              } else {
                await Task(on: queue) { _ = ran.add() }.value
              }
            }
          }
        }
        group.addTask {
          while ran.value < 20 { await Task.yield() }
          queue.close()
        }
      }
      await queue.drained()
      #expect(ran.value + Reports.about("closing \(round),").count == 200)
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
    await queue.drained()
    #expect(ran.value == 1)
  }

  @Test func `a drain that begins after the queue was quiet is not ended by that`() async {
    let queue = FIFOQueue()
    queue.suspend()
    queue.enqueue {}
    let waits = QuietWaits()
    @Sendable func wait() -> Task<Bool, Never> {
      Task(executorPreference: InPlaceExecutor()) {
        await waits.wait(for: queue.lane, within: nil, of: nil)
      }
    }
    let before = wait()
    var after: Task<Bool, Never>?
    let isQuiet = {
      after = wait()
      return true
    }
    waits.end(if: isQuiet) {}
    #expect(await before.value)
    after?.cancel()
    #expect(await after?.value == false)
    queue.resume()
    await queue.drained()
  }

  @Test func `many drains end in time that grows as their number`() async throws {
    /// How long drains take that all give up.
    func time(_ count: Int) async -> Duration {
      let queue = FIFOQueue()
      queue.suspend()
      queue.enqueue {}
      let begun = Counter()
      let drains = (0..<count).map { _ in
        Task(executorPreference: InPlaceExecutor()) {
          begun.add()
          _ = try? await queue.drain()
        }
      }
      #expect(begun.value == count)
      let time = await ContinuousClock().measure {
        for drain in drains { drain.cancel() }
        for drain in drains { await drain.value }
      }
      queue.resume()
      await queue.drained()
      return time
    }
    var (few, many) = (Duration.seconds(100), Duration.seconds(100))
    for _ in 0..<3 {
      few = min(few, await time(500))
      many = min(many, await time(4_000))
    }
    // In proportion, 8 times as long; if each looked at all others, 64 times.
    #expect(many < few * 32)
  }

  @Test func `drain returns what did not end in time, by the queue's clock`() async throws {
    let clock = ManualClock()
    let queue = FIFOQueue(label: "slow", clock: clock)
    let gate = Gate()
    let begun = Gate()
    Task(name: "running", on: queue) {
      begun.open()
      await gate.wait(for: "the test")
    }
    Task(name: "pending", on: queue) {}
    await begun.wait(for: "the operation to begin")
    let drained = Task(executorPreference: InPlaceExecutor()) {
      try await queue.drain(timeout: .seconds(5))
    }
    clock.advance(by: .seconds(5))
    #expect(
      try await drained.value == [
        OperationInfo(state: .running, label: "running"),
        OperationInfo(state: .pending, label: "pending"),
      ])
    let cancelled = Task { try await queue.drain() }
    cancelled.cancel()
    #expect(try await cancelled.value.count == 2)
    gate.open()
    #expect(try await queue.drain() == [])
  }

  // MARK: Limits

  @Test func `an operation that waits too long never runs`() async throws {
    let clock = ManualClock()
    let queue = FIFOQueue(clock: clock)
    let onActorActor = Notes()
    let onActor = ActorQueue(of: onActorActor, clock: clock)
    defer { withExtendedLifetime(onActorActor) {} }
    let ran = Counter()
    queue.suspend()
    onActor.suspend()
    let limits = OperationOptions.with { $0.maxWait = .seconds(1) }
    try queue.tryEnqueue(limits) { ran.add() }
    try onActor.tryEnqueue(limits) { _ in ran.add() }
    let waiting = Task { try await queue.run(limits) { _ = ran.add() } }
    await eventually("the body waits") { queue.statistics.pending == 2 }
    clock.advance(by: .milliseconds(999))
    #expect(queue.statistics.pending == 2)
    clock.advance(by: .milliseconds(1))
    await #expect(throws: QueueError.ended(.timedOut(.maxWait))) { try await waiting.value }
    queue.resume()
    onActor.resume()
    await queue.drained()
    await onActor.drained()
    #expect(ran.value == 0)
    #expect(queue.statistics.timedOut == 2)
    #expect(onActor.statistics.timedOut == 1)
  }

  @Test func `an operation that runs too long is cancelled, and holds its place`() async throws {
    let clock = ManualClock()
    let queue = FIFOQueue(clock: clock)
    let log = Log<Int>()
    let begun = Gate()
    let gate = Gate()
    try queue.tryEnqueue(OperationOptions.with { $0.maxRun = .seconds(1) }) {
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
    await queue.drained()
    #expect(log.entries == [1, 2])
  }

  @Test(arguments: [false, true])
  func `drain returns when the cancel handler of a body whose place is freed has`(
    isOnActor: Bool
  ) async throws {
    let clock = ManualClock()
    let actor = Notes()
    let fifo = FIFOQueue(clock: clock)
    let onActor = ActorQueue(of: actor, clock: clock)
    let (begun, cancelled, gate) = (Gate(), Gate(), Gate())
    let drains = TestSupport.Gate()
    let limits = OperationOptions.with {
      $0.maxRun = .seconds(1)
      $0.freesPlaceAtMaxRun = true
    }
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
      try onActor.tryEnqueue(limits) { _ in await body() }
    } else {
      try fifo.tryEnqueue(limits, body)
    }
    // Continues on the handler's thread, inside the handler, as there may be no third thread: the
    // handler blocks one, and the body takes another when it is about to sleep.
    let test = Task(executorPreference: InPlaceExecutor()) {
      await cancelled.wait(for: "the task to be cancelled")
      // Only the handler that is being called is left in the queue.
      if isOnActor { await onActor.run { _ in } } else { await fifo.run {} }
      let drained = Gate()
      Task(executorPreference: InPlaceExecutor()) {
        await (isOnActor ? onActor as any WorkQueue : fifo).drained()
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
    let queue = FIFOQueue(clock: clock)
    let begun = Gate()
    let gate = Gate()
    let next = Gate()
    let waiting = Task {
      try await queue.run(
        OperationOptions.with {
          $0.maxRun = .seconds(1)
          $0.freesPlaceAtMaxRun = true
        }
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
    await #expect(throws: QueueError.ended(.timedOut(.maxRun))) { try await waiting.value }
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
      await queue.drained()
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
      #expect(queue.list().map(\.state) == [.running, .pending, .pending, .pending])
      gate.open()
      await queue.drained()
      try? await queue.run { () async throws in throw SomeError() }
      try? await queue.run { () async throws in throw CancellationError() }
      await queue.run {
        #expect(queue.statistics.running == 1)
        #expect(queue.list().map(\.state) == [.running])
      }
      expected = QueueStatistics()
      expected.finished = 10
      expected.failed = 1
      expected.cancelled = 1
      #expect(queue.statistics == expected)
    }
  }
}
