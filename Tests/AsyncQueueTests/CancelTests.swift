import AsyncQueue
import TestSupport
import Testing

@Suite(.watched) struct CancelTests {
  @Test func `a pending operation that is cancelled never runs, and leaves at once`() async throws {
    let queue = FIFOQueue()
    let onActorActor = Notes()
    let onActor = ActorQueue(of: onActorActor)
    defer { withExtendedLifetime(onActorActor) {} }
    queue.suspend()
    onActor.suspend()
    let ran = Counter()
    let tasks = [
      Task(on: queue) { () async throws in _ = ran.add() },
      Task(on: queue, isolatedTo: Notes()) { (_) async throws in _ = ran.add() },
      Task(on: onActor) { (_) async throws in _ = ran.add() },
      Task { try await queue.enqueueAndWait { () async throws in _ = ran.add() } },
      Task { try await queue.run { () async throws in _ = ran.add() } },
      Task { try await onActor.run { (_) async throws in _ = ran.add() } },
    ]
    await eventually("all are pending") {
      queue.statistics.pending == 4 && onActor.statistics.pending == 2
    }
    for task in tasks { task.cancel() }
    // The queues are still suspended.
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
    #expect(queue.statistics.pending == 0)
    #expect(queue.statistics.cancelled == 4)
    #expect(onActor.statistics.cancelled == 2)
    queue.resume()
    onActor.resume()
    await queue.drained()
    await onActor.drained()
    #expect(ran.value == 0)
  }

  /// Inside a closure, and inside a task whose body the queue runs.
  @Test(arguments: [false, true], [false, true])
  func `what runs may cancel what is behind it, and wait for that end`(
    isTask: Bool, isWatched: Bool
  ) async {
    let queue = FIFOQueue()
    // A queue whose states are observed starts its operations one by one.
    let states = isWatched ? queue.states : nil
    defer { withExtendedLifetime(states) {} }
    let behind = Box<QueuedOperation>()
    let ends = Log<OperationEnd>()
    let body: @Sendable () async -> Void = {
      let operation = await behind.wait(for: "the operation behind")
      operation.cancel()
      ends.add(await operation.waitForEnd())
    }
    if isTask { _ = Task(on: queue) { await body() } } else { queue.enqueue(body) }
    behind.fill(queue.enqueueTask { Issue.record("it was cancelled") })
    queue.enqueue { ends.add(.finished) }
    await queue.drained()
    #expect(ends.entries == [.cancelled, .finished])
  }

  @Test func `where nothing can be thrown, a cancelled body runs in its turn and knows it`() async {
    let queue = FIFOQueue()
    let onActorActor = Notes()
    let onActor = ActorQueue(of: onActorActor)
    defer { withExtendedLifetime(onActorActor) {} }
    let log = Log<Int>()
    queue.suspend()
    onActor.suspend()
    queue.enqueue { log.add(1) }
    let first = Task(on: queue) {
      log.add(2)
      return Task.isCancelled
    }
    let second = Task(on: onActor) { _ in Task.isCancelled }
    let third = Task(on: MainActor.queue) { Task.isCancelled }
    first.cancel()
    second.cancel()
    third.cancel()
    queue.resume()
    onActor.resume()
    #expect(await first.value)
    #expect(await second.value)
    // It may have run earlier.
    _ = await third.value
    #expect(log.entries == [1, 2])
  }

  @Test func `cancelling inside a cancellation handler is safe, round a chain of queued tasks`()
    async throws
  {
    let queue = FIFOQueue()
    let others = (0..<10).map { _ in FIFOQueue() }
    // Released queues continue, so these are kept.
    defer { withExtendedLifetime(others) {} }
    for other in others { other.suspend() }
    let tasks = others.map { other in Task(on: other) { () async throws in } }
    let begun = Gate()
    let cancelled = Gate()
    let task = Task(on: queue) { () async throws in
      await withTaskCancellationHandler {
        begun.open()
        await cancelled.wait(for: "the cancellation handler")
      } onCancel: {
        for other in tasks { other.cancel() }
        queue.cancelAll()
        cancelled.open()
      }
    }
    await begun.wait(for: "the operation to begin")
    task.cancel()
    _ = await task.result
    for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
  }

  @Test(arguments: Caller.all)
  func `cancelAll ends what is pending, asks what runs, and leaves what comes later alone`(
    caller: Caller
  ) async throws {
    try await caller.call {
      for kind in 0..<2 {
        let queue = FIFOQueue()
        let onActorActor = Notes()
        let onActor = ActorQueue(of: onActorActor)
        defer { withExtendedLifetime(onActorActor) {} }
        let subject: any WorkQueue = kind == 0 ? queue : onActor
        let begun = Gate()
        let ended = Log<Bool>()
        let ran = Counter()
        func enqueue(_ body: @escaping @Sendable () async -> Void) {
          if kind == 0 { queue.enqueue(body) } else { onActor.enqueue { _ in await body() } }
        }
        enqueue {
          begun.open()
          await untilCancelled()
          ended.add(Task.isCancelled)
        }
        await begun.wait(for: "the operation to begin")
        subject.suspend()
        for _ in 0..<100 { enqueue { ran.add() } }
        let throwing = Task { try await queue.run { () async throws in _ = ran.add() } }
        if kind == 0 {
          await eventually("the body waits") { queue.statistics.pending == 101 }
        }
        subject.cancelAll()
        enqueue { #expect(!Task.isCancelled) }
        enqueue { ran.add(1_000) }
        subject.resume()
        await subject.drained()
        if kind == 0 {
          await #expect(throws: CancellationError.self) { try await throwing.value }
        } else {
          try await throwing.value
          ran.add(-1)
        }
        #expect(ended.entries == [true])
        #expect(ran.value == 1_000)
        #expect(subject.statistics.cancelled >= 100)
      }
    }
  }

  @Test
  func `cancelAll cancels the tasks of operations that run, and keeps those that cannot throw`()
    async
  {
    let queue = FIFOQueue()
    let begun = Gate()
    let running = Task(on: queue) {
      begun.open()
      await untilCancelled()
      return Task.isCancelled
    }
    let pending = (0..<100).map { number in
      Task(on: queue) { (number, Task.isCancelled) }
    }
    await begun.wait(for: "the operation to begin")
    queue.cancelAll()
    let later = Task(on: queue) { Task.isCancelled }
    #expect(await running.value)
    for (number, task) in pending.enumerated() { #expect(await task.value == (number, true)) }
    #expect(await later.value == false)
  }

  @Test(arguments: Caller.all)
  func `a body that cancels its own task does not cancel those that follow`(
    caller: Caller
  ) async throws {
    try await caller.call {
      let queue = FIFOQueue()
      let onActorActor = Notes()
      let onActor = ActorQueue(of: onActorActor)
      defer { withExtendedLifetime(onActorActor) {} }
      let log = Log<Bool>()
      for _ in 0..<10 {
        queue.enqueue {
          log.add(Task.isCancelled)
          withUnsafeCurrentTask { $0?.cancel() }
        }
        onActor.enqueue { _ in
          log.add(Task.isCancelled)
          withUnsafeCurrentTask { $0?.cancel() }
        }
      }
      await queue.drained()
      await onActor.drained()
      #expect(log.entries == Array(repeating: false, count: 20))
    }
  }

  @Test func `cancels race with starts, and each operation ends once`() async {
    let queue = FIFOQueue()
    let onActorActor = Notes()
    let onActor = ActorQueue(of: onActorActor)
    defer { withExtendedLifetime(onActorActor) {} }
    let ran = Counter()
    let threw = Counter()
    await withTaskGroup { group in
      for number in 0..<2_000 {
        let task =
          number % 2 == 0
          ? Task(on: queue) { () async throws in _ = ran.add() }
          : Task(on: onActor) { (_) async throws in _ = ran.add() }
        group.addTask { task.cancel() }
        group.addTask {
          if case .failure(let error) = await task.result {
            #expect(error is CancellationError)
            threw.add()
          }
        }
      }
    }
    #expect(ran.value + threw.value == 2_000)
    await queue.drained()
    await onActor.drained()
    let ended = [queue.statistics, onActor.statistics]
    #expect(ended.reduce(0) { $0 + $1.finished } == ran.value)
    #expect(ended.reduce(0) { $0 + $1.cancelled } == threw.value)
  }
}

/// Returns when the task is cancelled.
func untilCancelled() async {
  let gate = Gate()
  await withTaskCancellationHandler {
    await gate.wait(for: "the task to be cancelled")
  } onCancel: {
    gate.open()
  }
}

@Suite(.watched) struct CancellableQueueTests {
  @Test func `cancelTasks cancels running and pending tasks of each form, and no later ones`()
    async throws
  {
    let fifo = CancellableQueue(underlyingQueue: FIFOQueue())
    let notes = Notes()
    defer { withExtendedLifetime(notes) {} }
    let onActor = CancellableQueue(underlyingQueue: ActorQueue(of: notes))
    let onMain = CancellableQueue(underlyingQueue: MainActor.queue)
    let begun = (0..<3).map { _ in Gate() }
    let running = [
      Task(on: fifo) {
        begun[0].open()
        await untilCancelled()
      },
      Task(on: onActor) { _ in
        begun[1].open()
        await untilCancelled()
      },
      Task(on: onMain) {
        begun[2].open()
        await untilCancelled()
      },
    ]
    for gate in begun { await gate.wait(for: "the operation to begin") }
    let ran = Counter()
    let pending = [
      Task(on: fifo) { () async throws in _ = ran.add() },
      Task(name: "a", priority: .high, on: fifo, isolatedTo: Notes()) { (_) async throws in
        _ = ran.add()
      },
    ]
    let pendingInAnyCase = [
      Task(priority: .low, on: fifo) { Task.isCancelled },
      Task(on: fifo, isolatedTo: Notes()) { _ in Task.isCancelled },
    ]
    fifo.cancelTasks()
    onActor.cancelTasks()
    onMain.cancelTasks()
    let later = [
      Task(on: fifo) { () async throws in Task.isCancelled },
      Task(on: onActor) { (_) async throws in Task.isCancelled },
      Task(on: onMain) { () async throws in Task.isCancelled },
    ]
    for task in running { await task.value }
    for task in pending { await #expect(throws: CancellationError.self) { try await task.value } }
    for task in pendingInAnyCase { #expect(await task.value) }
    for task in later { #expect(try await task.value == false) }
    #expect(ran.value == 0)
  }

  @Test func `two cancellable queues of one queue cancel their own tasks only`() async throws {
    let queue = FIFOQueue()
    let (first, second) = (
      CancellableQueue(underlyingQueue: queue), CancellableQueue(underlyingQueue: queue)
    )
    queue.suspend()
    let cancelled = Task(on: first) { () async throws in 1 }
    let kept = Task(on: second) { () async throws in 2 }
    first.cancelTasks()
    queue.resume()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(try await kept.value == 2)
  }

  @Test func `it forgets tasks that have ended, whenever cancelTasks is called`() async throws {
    let alive = Counter()
    let queue = CancellableQueue(underlyingQueue: FIFOQueue())
    await withTaskGroup { group in
      for number in 0..<500 {
        let tracked = Tracked(alive)
        let task = Task(on: queue) { () async throws in withExtendedLifetime(tracked) {} }
        group.addTask { _ = await task.result }
        if number % 50 == 0 { group.addTask { queue.cancelTasks() } }
      }
    }
    await eventually("all that was captured is gone") { alive.value == 0 }
  }
}
