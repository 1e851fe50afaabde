import AsyncOperation
import TestSupport
import Testing

@Suite(.watched) struct ConcurrentDeadlockTests {
  private static func expectDeadlock(
    naming names: String..., sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
  ) async {
    do {
      try await body()
      Issue.record("it is refused", sourceLocation: sourceLocation)
    } catch let error as QueueError {
      for name in names {
        #expect(error.description.contains(name), sourceLocation: sourceLocation)
      }
    } catch {
      Issue.record("it throws \(error)", sourceLocation: sourceLocation)
    }
  }

  @Test func `running inside one's own run throws where there is one place`() async throws {
    let queue = ConcurrentQueue(label: "own", maxConcurrent: 1)
    let ran = Counter()
    try await queue.run {
      await Self.expectDeadlock(naming: "own") { try await queue.run { ran.up() } }
      async let child: Void = Self.expectDeadlock(naming: "own") {
        try await queue.run { ran.up() }
      }
      await child
      await withTaskGroup { group in
        group.addTask { await Self.expectDeadlock { try await queue.run { ran.up() } } }
      }
    }
    try await queue.enqueueTask {
      await Self.expectDeadlock(naming: "own") { try await queue.run { ran.up() } }
    }.value
    try await queue.drain()
    #expect(ran.value == 0)
  }

  @Test(arguments: [2, 3])
  func `the last place is not waited for from inside all of them`(places: Int) async throws {
    let queue = ConcurrentQueue(label: "own", maxConcurrent: places)
    let ran = Counter()
    @Sendable func nest(_ depth: Int) async throws {
      if depth == places {
        await Self.expectDeadlock(naming: "own") { try await queue.run { ran.up() } }
      } else {
        try await queue.run { try await nest(depth + 1) }
        ran.up()
      }
    }
    try await nest(0)
    #expect(ran.value == places)
  }

  @Test(arguments: [1, 2, 3])
  func `of those that take all places and wait for one more each, the last is refused`(
    places: Int
  ) async throws {
    let queue = ConcurrentQueue(label: "own", maxConcurrent: places)
    let all = Signal(count: places)
    let refused = Counter()
    try await withThrowingTaskGroup { group in
      for _ in 0..<places {
        group.addTask {
          try await queue.run {
            all.raise()
            #expect(await all.wait())
            do {
              try await queue.run {}
            } catch is QueueError {
              refused.up()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect((1...places).contains(refused.value))
  }

  @Test func `a ring of queues is refused, and named`() async throws {
    let queues = (0..<3).map { ConcurrentQueue(label: "ring \($0)", maxConcurrent: 1) }
    let all = Signal(count: 3)
    let refused = Counter()
    try await withThrowingTaskGroup { group in
      for number in 0..<3 {
        group.addTask {
          try await queues[number].run {
            all.raise()
            #expect(await all.wait())
            do {
              try await queues[(number + 1) % 3].run {}
            } catch let error as QueueError {
              for number in 0..<3 { #expect(error.description.contains("ring \(number)")) }
              refused.up()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(refused.value == 1)
  }

  @Test
  func `awaiting what cannot end before throws: itself, what is behind it, what comes after it`()
    async throws
  {
    let queue = ConcurrentQueue(label: "own", maxConcurrent: 1)
    let other = ConcurrentQueue(label: "other")
    let goes = Signal()
    let operations = Protected<[QueuedResult<Void>]>([])
    let first = queue.enqueueTask {
      #expect(await goes.wait())
      for operation in operations.withLock({ $0 }) {
        await Self.expectDeadlock(naming: "own") { try await operation.value }
      }
    }
    let behind = queue.enqueueTask {}
    let after = other.enqueueTask(.with { $0.after = [first] }) {}
    let later = other.enqueueTask(.with { $0.after = [after] }) {}
    operations.withLock { $0 = [first, behind, after, later] }
    goes.raise()
    for operation in [first, behind, after, later] {
      #expect(await operation.endInTime() == "finished")
    }
  }

  @Test func `a barrier is not waited for from before it, nor what is behind it`() async throws {
    let queue = ConcurrentQueue(label: "own", maxConcurrent: 4)
    try await queue.run {
      await Self.expectDeadlock(naming: "own") {
        try await queue.run(.with { $0.isBarrier = true }) {}
      }
      let barrier = queue.enqueueTask(.with { $0.isBarrier = true }) {}
      await Self.expectDeadlock(naming: "own") { try await queue.run {} }
      barrier.cancel()
      try await queue.run {}
    }
  }

  @Test func `draining round a ring is refused`() async throws {
    let (queue, other) = (
      ConcurrentQueue(maxConcurrent: 1), ConcurrentQueue(maxConcurrent: 2)
    )
    let isInside = Signal()
    let waits = Signal()
    let refused = Protected(0)
    // The last wait is refused, and so the other one ends.
    @Sendable func drain(_ queue: ConcurrentQueue) async {
      do {
        try await queue.drain()
      } catch {
        #expect("\(error)".contains("waits for"))
        refused.withLock { $0 += 1 }
      }
    }
    async let inOther: Void = other.run {
      isInside.raise()
      #expect(await waits.wait())
      await drain(queue)
    }
    try await queue.run {
      #expect(await isInside.wait())
      async let drained: Void = drain(other)
      waits.raise()
      await drained
    }
    try await inOther
    #expect(refused.withLock { $0 } == 1)
  }

  @Test func `waits that only look like a ring are not refused`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 2)
    let other = ConcurrentQueue(maxConcurrent: 1)
    try await queue.run {
      // Two waits in one operation take up one place.
      async let one = queue.run { 1 }
      async let two = queue.run { 2 }
      #expect(try await one + two == 3)
      try await other.run { try await queue.run {} }
      // A cancelled operation does not wait.
      let barrier = queue.enqueueTask(.with { $0.isBarrier = true }) {}
      barrier.cancel()
      await #expect(throws: QueueError.self) { try await barrier.value }
    }
  }

  @Test func `a task that is only created inside may wait, and its children too`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 1)
    let task = try await queue.run {
      Task {
        try await queue.run {}
        async let child: Void = queue.run {}
        try await child
      }
    }
    try await task.value
    // Also while the operation runs, as it does not wait for the task.
    let inside = Signal()
    let held = Protected<Task<Void, any Error>?>(nil)
    try await queue.run {
      held.withLock {
        $0 = Task {
          inside.raise()
          try await queue.run {}
        }
      }
      #expect(await inside.wait())
    }
    try await held.withLock { $0 }?.value
  }

  @Test func `a place that was freed at the maximum run is not taken any more`() async throws {
    let stage = QueueStage()
    let begun = Signal()
    let isCancelled = Signal()
    let options = OperationOptions.with {
      $0.maxRun = .seconds(1)
      $0.freesPlaceAtMaxRun = true
    }
    let operation = stage.queue.enqueueTask(options) {
      await withTaskCancellationHandler {
        begun.raise()
        #expect(await isCancelled.wait())
      } onCancel: {
        isCancelled.raise()
      }
      // The operation is not cancelled, although this task is by now.
      try await stage.queue.enqueueTask {}.value
      stage.log.add("ran")
    }
    #expect(await begun.wait())
    stage.advance(1_000)
    #expect(await operation.endInTime() == "timedOut(maxRun)")
    #expect(await comesTrue { stage.log.entries == ["ran"] })
  }

  @Test func `where it cannot throw, it stops, and names the queue`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = ConcurrentQueue(label: "mine", maxConcurrent: 1)
      try await queue.run { _ = await queue.enqueueTask {}.waitForEnd() }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("mine"))
  }
}
