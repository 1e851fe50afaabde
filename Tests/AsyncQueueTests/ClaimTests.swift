import AsyncQueue
import TestSupport
import Testing

/// When an operation counts as started: when its task gets to it, not when its turn comes.
@Suite(.watched) struct ClaimTests {
  /// Keeps an actor's jobs until it is told to run them, as if the actor were busy.
  private final class Door: SerialExecutor {
    private let jobs = Protected<[UnownedJob]>([])

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      jobs.withLock { $0.append(job) }
    }

    /// How many jobs are waiting.
    var count: Int { jobs.withLock { $0.count } }

    /// Runs the waiting jobs, and those that they cause.
    func open() {
      while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
        job.runSynchronously(on: asUnownedSerialExecutor())
      }
    }
  }

  private actor Busy {
    nonisolated let door = Door()
    nonisolated var unownedExecutor: UnownedSerialExecutor { door.asUnownedSerialExecutor() }
  }

  /// Each form of operation that has a task of its own.
  enum Form: CaseIterable, Sendable {
    case task, throwingTask, named, enqueue, run

    func add(
      to queue: ActorQueue<some Actor>, _ limits: OperationOptions? = nil,
      _ body: @escaping @Sendable () -> Void
    ) {
      switch self {
      case .task: Task(on: queue) { _ in body() }
      case .throwingTask: Task(on: queue) { (_) async throws in body() }
      case .named: Task(name: "x", on: queue) { _ in body() }
      case .enqueue: try! queue.tryEnqueue(limits ?? OperationOptions()) { _ in body() }
      case .run: Task { await queue.run { _ in body() } }
      }
    }
  }

  @Test(arguments: Form.all)
  func `what has not begun when a suspend returns begins after the resume`(form: Form) async {
    let actor = Busy()
    let queue = ActorQueue(of: actor)
    let begun = Counter()
    queue.suspend()
    form.add(to: queue) { begun.add() }
    await eventually("it is in the queue") {
      actor.door.open()
      return queue.statistics.pending == 1
    }
    queue.resume()
    await eventually("its task is at the door") { actor.door.count == 1 }
    #expect(queue.statistics.running == 0)
    queue.suspend()
    actor.door.open()
    #expect(begun.value == 0)
    #expect(queue.statistics.pending == 1 && queue.statistics.running == 0)
    queue.resume()
    await eventually("it begins") {
      actor.door.open()
      return begun.value == 1
    }
    await queue.drained()
  }

  @Test func `the time that an operation may run counts from its beginning`() async throws {
    let actor = Busy()
    let clock = ManualClock()
    let queue = ActorQueue(of: actor, clock: clock)
    let log = Log<Bool>()
    Form.enqueue.add(to: queue, OperationOptions.with { $0.maxRun = .seconds(1) }) {
      log.add(Task.isCancelled)
    }
    await eventually("its task is at the door") { actor.door.count == 1 }
    clock.advance(by: .seconds(2))
    await eventually("it begins") {
      actor.door.open()
      return log.entries.count == 1
    }
    await queue.drained()
    #expect(log.entries == [false])
    #expect(queue.statistics.finished == 1 && queue.statistics.timedOut == 0)
  }

  @Test func `the time that an operation may wait ends with its beginning`() async throws {
    let actor = Busy()
    let clock = ManualClock()
    let queue = ActorQueue(of: actor, clock: clock)
    let begun = Counter()
    Form.enqueue.add(to: queue, OperationOptions.with { $0.maxWait = .seconds(1) }) { begun.add() }
    await eventually("its task is at the door") { actor.door.count == 1 }
    Form.task.add(to: queue) { begun.add(10) }
    clock.advance(by: .seconds(2))
    #expect(queue.statistics.timedOut == 1)
    await eventually("the next one begins") {
      actor.door.open()
      return begun.value == 10
    }
    await queue.drained()
  }

  @Test func `a task that is cancelled before its body could begin leaves its place to the next`()
    async throws
  {
    let actor = Busy()
    let queue = ActorQueue(of: actor)
    let begun = Counter()
    let first = Task(on: queue) { (_) async throws in _ = begun.add() }
    let second = Task(on: queue) { _ in _ = begun.add(10) }
    await eventually("both are at the door") { actor.door.count == 2 }
    first.cancel()
    await eventually("the second one begins") {
      actor.door.open()
      return begun.value == 10
    }
    await second.value
    await #expect(throws: CancellationError.self) { try await first.value }
    let third = Task(on: queue) { (_) async throws in _ = begun.add(100) }
    await eventually("it is at the door") { actor.door.count == 1 }
    queue.cancelAll()
    #expect(queue.statistics.pending == 0)
    actor.door.open()
    await #expect(throws: CancellationError.self) { try await third.value }
    #expect(begun.value == 10)
    await queue.drained()
  }

  @Test(arguments: [false, true])
  func `the body of a caller begins in a queue that goes on`(isObstinate: Bool) async throws {
    let queue = FIFOQueue()
    let executor = PatientExecutor()
    let begun = Counter()
    queue.suspend()
    let caller = Task(executorPreference: executor) {
      if isObstinate {
        await queue.run { _ = begun.add() }
      } else {
        try await queue.run { () async throws in _ = begun.add() }
      }
    }
    executor.run(0)
    #expect(queue.statistics.pending == 1)
    queue.resume()
    #expect(executor.count == 2)
    queue.suspend()
    executor.run(1)
    #expect(begun.value == 0 && queue.statistics.pending == 1)
    queue.resume()
    #expect(executor.count == 3)
    executor.run(2)
    try await caller.value
    #expect(begun.value == 1)
  }
}
