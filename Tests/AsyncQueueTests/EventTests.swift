import AsyncQueue
import TestSupport
import Testing

/// The events of the queues.
@Suite(.watched) struct EventTests {
  typealias Kind = OptionTests.Kind

  @Test(arguments: Caller.all)
  func `events tell what happens, in order`(caller: Caller) async throws {
    try await caller.call {
      let queue = FIFOQueue()
      let events = queue.events()
      queue.suspend()
      queue.suspend(for: "a reason")
      queue.resume()
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
      await see(until: .ended("cancelled", .cancelled))
      queue.resume(for: "a reason")
      _ = await failing.result
      await queue.run {}
      queue.close()
      await see(until: .closed)
      #expect(
        seen == [
          .suspended, .enqueued(nil), .enqueued("failing"),
          .enqueued("cancelled"), .ended("cancelled", .cancelled), .resumed,
          .started(nil), .ended(nil, .finished), .started("failing"),
          .ended("failing", .failed(SomeError())), .idle, .enqueued(nil), .started(nil),
          .ended(nil, .finished), .idle, .closed,
        ])
    }
  }

  @Test func `events have no numbers, and the error of what has failed`() async {
    let queue = FIFOQueue()
    let events = queue.events()
    _ = await Task(on: queue) { () async throws in throw SomeError() }.result
    queue.close()
    for await event in events {
      #expect(event.operation?.number == nil)
      if case .ended(_, let end) = event { #expect(end.error is SomeError) }
      if event == .closed { break }
    }
  }

  @Test func `events name what has a label, in each form`() async throws {
    let (fifo, notes, main) = (FIFOQueue(), Notes(), MainActorQueue())
    let onActor = ActorQueue(of: notes)
    let events = [fifo.events(), onActor.events(), main.events()]
    let options = OperationOptions.with { $0.label = "a label" }
    try await fifo.enqueueTask(options) {}.value
    try fifo.tryEnqueue(options) {}
    try await fifo.run(options) {}
    try onActor.tryEnqueue(options) { _ in }
    try main.tryEnqueue(options) {}
    for (events, count) in zip(events, [9, 3, 3]) {
      var infos: [OperationInfo] = []
      for await event in events {
        if let info = event.operation { infos.append(info) }
        if infos.count == count { break }
      }
      for info in infos { #expect(info.label?.hasPrefix("a label, AsyncQueueTests/Event") == true) }
    }
  }

  @Test func `who reads an event where it is told may use the queue`() async {
    let (queue, seen) = (FIFOQueue(), Gate())
    let cancellable = CancellableQueue(underlyingQueue: queue)
    // Or its body may have run before the cancel reaches the task, which is just being created.
    queue.suspend()
    let events = queue.events()
    let reader = Task(executorPreference: InPlaceExecutor()) {
      for await event in events {
        if case .enqueued = event { cancellable.cancelTasks() }
        if case .ended(_, .cancelled) = event { seen.open() }
      }
    }
    let task = Task(on: cancellable) { () async throws in }
    await #expect(throws: CancellationError.self) { try await task.value }
    await seen.wait(for: "the end to be told")
    queue.resume()
    reader.cancel()
  }

  @Test func `events end when the queue is released`() async {
    func use() -> AsyncStream<QueueEvent> {
      let queue = FIFOQueue()
      let events = queue.events(buffering: .bufferingNewest(10))
      queue.close()
      return events
    }
    var seen: [QueueEvent] = []
    for await event in use() { seen.append(event) }
    #expect(seen == [.closed])
  }

  @Test func `of operations enqueued before, those with a turn of their own are told`() async {
    let queue = FIFOQueue()
    queue.suspend()
    // Without the task-local values of a test.
    await Task.detached { _ = Task(on: queue) {} }.value
    Local.$number.withValue(1) { queue.enqueue {} }
    Task(name: "throws", on: queue) { () async throws in }
    let last = queue.enqueueTask {}
    let events = queue.events()
    queue.resume()
    _ = await last.waitForEnd()
    queue.close()
    var ends = 0
    for await event in events {
      if case .ended = event { ends += 1 }
      if event == .closed { break }
    }
    #expect(ends == 3)
  }

  @Test(arguments: Kind.all)
  func `an operation that is cut off has ended, in its own way, before the queue is idle`(
    kind: Kind
  ) async {
    let clock = ManualClock()
    let (queue, enqueue) = kind.make(clock)
    let events = queue.events()
    let (begun, mayReturn) = (Gate(), Gate())
    let operation = enqueue(.with { $0.cancelGrace = .seconds(5) }) {
      begun.open()
      await mayReturn.wait(for: "the word to return")
      return 1
    }
    await begun.wait(for: "the operation to begin")
    operation.cancel()
    clock.advance(by: .seconds(5))
    #expect(await operation.waitForEnd() == .cancelled(.grace))
    mayReturn.open()
    await queue.drained()
    var ends: [OperationEnd] = []
    for await event in events {
      if case .ended(_, let end) = event { ends.append(end) }
      if event == .idle { break }
    }
    #expect(ends == [.cancelled(.grace)])
  }

  @Test(arguments: ["fifo", "actor", "main actor"])
  func `events tell of what a released queue has still to do`(kind: String) async {
    let (begun, end) = (Signal(), Signal())
    let target = Target()
    let body: @Sendable () async -> Void = {
      begun.raise()
      _ = await end.wait()
    }
    func use() -> AsyncStream<QueueEvent> {
      switch kind {
      case "fifo":
        let queue = FIFOQueue()
        defer { queue.enqueue(body) }
        return queue.events()
      case "actor":
        let queue = ActorQueue(of: target)
        defer { queue.enqueue { _ in await body() } }
        return queue.events()
      default:
        let queue = MainActorQueue()
        defer { queue.enqueue(body) }
        return queue.events()
      }
    }
    let events = use()
    #expect(await begun.wait())
    end.raise()
    var seen: [QueueEvent] = []
    for await event in events { seen.append(event) }
    #expect(seen == [.enqueued(nil), .started(nil), .ended(nil, .finished), .idle])
  }
}

private actor Target {}
