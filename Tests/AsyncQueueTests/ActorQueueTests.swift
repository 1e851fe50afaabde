import AsyncQueue
import TestSupport
import Testing

@Suite(.watched) struct ActorQueueTests {
  static let priorities: [TaskPriority] = [.background, .utility, .medium, .high]

  @Test(arguments: Caller.all)
  func `operations begin in order whatever their priorities are, on a busy actor too`(
    caller: Caller
  ) async throws {
    for run in 0..<200 {
      try await caller.call {
        let notes = Notes()
        let queue = ActorQueue(of: notes)
        let isBusy = run % 2 == 0
        let busy =
          isBusy
          ? (0..<3).map { _ in
            Task.detached(priority: .high) { for _ in 0..<20 { await notes.work() } }
          } : []
        let count = run < 4 ? 1_000 : 50
        for number in 0..<count {
          let priority = Self.priorities[number % 4]
          Task(priority: priority, on: queue) { $0.add(number) }
        }
        await queue.drained()
        for task in busy { await task.value }
        #expect(await notes.numbers == Array(0..<count))
      }
    }
  }

  @Test(arguments: Caller.all)
  func `enqueues from callers of different priorities begin in the order of the enqueues`(
    caller: Caller
  ) async {
    let notes = Notes()
    let queue = ActorQueue(of: notes)
    for number in 0..<400 {
      // Nobody awaits the task, which would raise its priority.
      let done = Gate()
      Task.detached(priority: Self.priorities[number % 4]) {
        caller.enqueueHere { queue.enqueue { $0.add(number) } }
        done.open()
      }
      await done.wait(for: "the enqueue")
    }
    await queue.drained()
    #expect(await notes.numbers == Array(0..<400))
  }

  @Test(arguments: Caller.all)
  func `the next operation begins when the one before it suspends`(caller: Caller) async throws {
    try await caller.call {
      let notes = Notes()
      let queue = ActorQueue(of: notes)
      let gate = Gate()
      for number in 0..<100 {
        queue.enqueue {
          $0.add(number)
          if number % 10 == 0 {
            await gate.wait(for: "the test to open the gate")
            $0.add(1_000 + number)
          }
        }
      }
      await queue.enqueueAndWait { _ in }
      #expect(await notes.numbers == Array(0..<100))
      #expect(queue.statistics.running == 10)
      gate.open()
      await queue.drained()
      #expect(await notes.numbers.dropFirst(100).sorted() == (0..<10).map { 1_000 + 10 * $0 })
      #expect(queue.statistics.finished == 101)
    }
  }

  @Test(arguments: Caller.all)
  func `an operation may wait for others of its own queue`(caller: Caller) async throws {
    try await caller.call {
      let notes = Notes()
      let queue = ActorQueue(of: notes)
      queue.enqueue { notes in
        notes.add(1)
        await queue.enqueueAndWait { $0.add(2) }
        await Task(on: queue) { $0.add(3) }.value
        await queue.run { $0.add(4) }
        notes.add(5)
      }
      await queue.drained()
      #expect(await notes.numbers == [1, 2, 3, 4, 5])
    }
  }

  @Test(arguments: Caller.all)
  func `segments of many suspending operations never overlap`(caller: Caller) async throws {
    try await caller.call {
      let notes = Notes()
      let queue = ActorQueue(of: notes)
      let inside = Counter()
      for number in 0..<500 {
        queue.enqueue { notes in
          for _ in 0..<3 {
            #expect(inside.add(1) == 1)
            notes.add(number)
            inside.add(-1)
            await Task.yield()
          }
        }
      }
      await queue.drained()
      #expect(await notes.numbers.count == 1_500)
    }
  }

  @Test func `values, errors and typed errors come back`() async throws {
    let notes = Notes()
    let queue = ActorQueue(of: notes)
    #expect(await queue.enqueueAndWait { _ in 1 } == 1)
    #expect(await queue.run { _ in 2 } == 2)
    await #expect(throws: SomeError()) {
      try await queue.enqueueAndWait { (_) async throws -> Int in throw SomeError() }
    }
    do throws(SomeError) {
      try await queue.run { (_) async throws(SomeError) in throw SomeError() }
      Issue.record("it throws")
    } catch {
      #expect(error == SomeError())
    }
  }

  // MARK: The actor

  @Test(arguments: Caller.all)
  func `pending operations keep their actor alive and run`(caller: Caller) async throws {
    try await caller.call {
      let log = Log<Int>()
      let alive = Counter()
      actor Owner {
        let tracked: Tracked
        init(_ alive: Counter) { tracked = Tracked(alive) }
        func touch() {}
      }
      let queue = ActorQueue<Owner>()
      func useOwner() {
        let owner = Owner(alive)
        queue.adoptExecutionContext(of: owner)
        queue.suspend()
        for number in 0..<10 {
          queue.enqueue {
            $0.touch()
            log.add(number)
          }
        }
      }
      useOwner()
      #expect(alive.value == 1)
      queue.resume()
      await queue.drained()
      #expect(log.entries == Array(0..<10))
      await eventually("the actor is gone") { alive.value == 0 }
    }
  }

  @Test func `forms that throw say that there is no actor`() async throws {
    let queue = ActorQueue<Notes>()
    #expect(throws: QueueError.noActor) { try queue.tryEnqueue { $0.add(1) } }
    await #expect(throws: QueueError.noActor) { try await queue.enqueueWhenRoom { $0.add(1) } }
    await #expect(throws: QueueError.noActor) {
      try await queue.enqueueAndWait { (notes) async throws in notes.add(1) }
    }
    await #expect(throws: QueueError.noActor) {
      try await queue.run { (notes) async throws in notes.add(1) }
    }
    await #expect(throws: QueueError.noActor) {
      try await Task(on: queue) { (notes) async throws in notes.add(1) }.value
    }
    func outlive() { queue.adoptExecutionContext(of: Notes()) }
    outlive()
    #expect(throws: QueueError.noActor) { try queue.tryEnqueue { $0.add(1) } }
  }

  @Test func `forms that cannot throw stop with a message that says what to do`() async throws {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      await ActorQueue<Notes>(name: "lonely").run { $0.add(1) }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("lonely"))
    #expect(message.contains("adoptExecutionContext"))
    #expect(message.contains("ActorQueueTests.swift"))
  }

  @Test func `a second adoption stops`() async {
    await #expect(processExitsWith: .failure) {
      let queueActor = Notes()
      let queue = ActorQueue(of: queueActor)
      defer { withExtendedLifetime(queueActor) {} }
      queue.adoptExecutionContext(of: Notes())
    }
  }
}

@Suite(.watched) struct MainActorQueueTests {
  @Test(arguments: Caller.all)
  func `operations begin on the main actor in order, and may re-enter`(
    caller: Caller
  ) async throws {
    try await caller.call {
      let queue = MainActorQueue()
      let log = Log<Int>()
      for number in 0..<1_000 {
        queue.enqueue {
          MainActor.assertIsolated()
          log.add(number)
          if number == 500 { await queue.enqueueAndWait { log.add(1_000) } }
        }
      }
      await queue.drained()
      #expect(log.entries.filter { $0 < 1_000 } == Array(0..<1_000))
      #expect(log.entries.count == 1_001)
    }
  }

  @Test func `waiting forms and tasks on the main actor's queue give values`() async throws {
    #expect(await MainActorQueue.shared.enqueueAndWait { 1 } == 1)
    #expect(try await MainActorQueue.shared.enqueueAndWait { () async throws in 2 } == 2)
    #expect(await MainActorQueue.shared.run { 3 } == 3)
    #expect(await Task(on: MainActor.queue) { 4 }.value == 4)
    await #expect(throws: SomeError()) {
      try await Task(on: MainActor.queue) { () async throws -> Int in throw SomeError() }.value
    }
    let log = Log<Int>()
    var tasks: [Task<Void, Never>] = []
    for number in 0..<500 {
      tasks.append(
        Task(priority: ActorQueueTests.priorities[number % 4], on: MainActor.queue) {
          log.add(number)
        })
    }
    for task in tasks { await task.value }
    #expect(log.entries == Array(0..<500))
  }
}
