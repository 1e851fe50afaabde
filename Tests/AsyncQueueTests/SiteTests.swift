import AsyncQueue
import TestSupport
import Testing

/// The lines that are named in reports.
@Suite(.watched, .serialized) struct SiteTests {
  private let queue = FIFOQueue(name: "stuck")
  private let end = Signal()

  init() {
    Reports.begin()
    Report.setStallLimit(.milliseconds(50))
  }

  /// Blocks the queue; the report of that has to name this line, in its values, too.
  private func isNamed(line: Int) async {
    let behind = Task(on: queue) {}
    let told = await Reports.told("SiteTests.swift:\(line)")
    #expect(told.first?.kind == .stall)
    #expect(told.first?.fileID == "AsyncQueueTests/SiteTests.swift")
    #expect(told.first?.line == line)
    end.raise()
    await behind.value
    Report.setStallLimit(.zero)
  }

  @Test func `the line of a task is named`() async {
    let line = #line + 1
    let task = Task(on: queue) { _ = await end.wait() }
    await isNamed(line: line)
    await task.value
  }

  @Test func `the line of a task that may throw is named`() async throws {
    let line = #line + 1
    let task = Task(on: queue) { () async throws in _ = await end.wait() }
    await isNamed(line: line)
    try await task.value
  }

  @Test func `the line of an operation is named, and once`() async {
    let line = #line + 1
    let operation = queue.enqueueTask(.with { $0.label = "labelled" }) { _ = await end.wait() }
    await isNamed(line: line)
    let message = Reports.about("SiteTests.swift:\(line)").first?.message
    #expect(message?.contains("\"labelled, AsyncQueueTests/SiteTests.swift:\(line)\" of") == true)
    _ = await operation.waitForEnd()
  }

  @Test func `the line of a closure is named`() async {
    let line = #line + 1
    queue.enqueue { _ = await end.wait() }
    await isNamed(line: line)
  }

  @Test func `the line of a suspension is named`() async {
    let line = #line + 1
    queue.suspend()
    queue.enqueue {}
    let drain = Task { try await queue.drain() }
    let told = await Reports.told("SiteTests.swift:\(line)")
    #expect(told.first?.line == line)
    queue.resume()
    _ = await drain.result
    Report.setStallLimit(.zero)
  }

  @Test func `the line of a closure that is refused is named`() async {
    Report.setStallLimit(.zero)
    queue.close()
    let line = #line + 1
    queue.enqueue {}
    let told = Reports.about("SiteTests.swift:\(line)")
    #expect(told.first?.kind == .refused)
    #expect(told.first?.line == line)
  }

  /// Waits in an operation of the queue, which a snapshot has to tell with this line.
  private func isTold(
    line: Int, _ wait: @escaping @Sendable (FIFOQueue, QueuedOperation) async throws -> Void
  ) async throws {
    Report.setStallLimit(.zero)
    let other = FIFOQueue(name: "other")
    let held = other.enqueueTask { _ = await end.wait() }
    let task = Task(on: queue) { try await wait(other, held) }
    var told: Report.Entry?
    while told == nil {
      let all = Report.snapshot()
      // Another test's queue may not have gone yet.
      let queues = all.filter { $0.label == "stuck" }.map(\.id)
      told = all.first { $0.kind == "wait" && queues.contains($0.other) }
      await Task.yield()
    }
    #expect(told?.line == line)
    #expect(told?.fileID == "AsyncQueueTests/SiteTests.swift")
    end.raise()
    try await task.value
  }

  @Test func `a chain leads through a wait, and names its line`() async throws {
    Report.setStallLimit(.zero)
    let other = FIFOQueue(name: "other")
    let held = other.enqueueTask { _ = await end.wait() }
    let line = #line + 1
    let task = Task(on: queue) { await held.waitForEnd() }
    let behind = Task(on: queue) {}
    // Both have stood still for as long, so that they are looked at together.
    while !Report.snapshot().contains(where: { $0.kind == "wait" && $0.line == line }) {
      await Task.yield()
    }
    Report.setStallLimit(.milliseconds(50))
    let told = await Reports.told("waits (AsyncQueueTests/SiteTests.swift:\(line)) for")
    #expect(told.first?.chain.map(\.cause) == ["wait", "task"])
    end.raise()
    #expect(await task.value == .finished)
    await behind.value
    Report.setStallLimit(.zero)
  }

  @Test func `the line that drains a queue is told`() async throws {
    try await isTold(line: #line) { other, _ in try await other.drain() }
  }

  @Test func `the line that drains a queue for a time is told`() async throws {
    try await isTold(line: #line) { other, _ in try await other.drain(timeout: .seconds(60)) }
  }

  @Test func `the line that waits for an operation is told`() async throws {
    try await isTold(line: #line) { _, held in _ = await held.waitForEnd() }
  }

  @Test func `the line that waits for a batch is told`() async throws {
    try await isTold(line: #line) { _, held in try await Batch.all([held]).waitForEnd() }
  }

  @Test func `the line that waits for its turn is told`() async throws {
    try await isTold(line: #line) { other, _ in await other.run {} }
  }

  @Test func `the names of methods alone stand for the forms without a line`() async throws {
    let ran = Counter()
    let target = Target()
    let (room, screen) = (ActorQueue(of: target), MainActorQueue())
    let queues: [any WorkQueue] = [queue, room, screen]
    let (add, addOnActor, addOnMain) = (queue.enqueue, room.enqueue, screen.enqueue)
    let (suspend, resume): (() -> Void, () -> Void) = (queue.suspend, queue.resume)
    let drain: () async throws(QueueError) -> [OperationInfo] = queue.drain
    suspend()
    add { ran.add() }
    [{ @Sendable () async in ran.add() }].forEach(queue.enqueue)
    (queue as any Enqueuing).enqueue { ran.add() }
    addOnActor { _ in ran.add() }
    addOnMain { ran.add() }
    #expect(queue.statistics.pending == 3)
    resume()
    for queue in queues { await queue.drained() }
    #expect(ran.value == 5)
    #expect(try await drain().isEmpty)
    let wait = queue.enqueueTask {}.waitForEnd
    #expect(await wait() == .finished)
  }

  @Test func `a queue of somebody else's is suspended as it says`() {
    let foreign = Foreign()
    foreign.suspend()
    foreign.suspend(for: "a reason")
    (foreign as any WorkQueue).suspend()
    #expect(foreign.queue.statistics.suspends == 3)
    for _ in 0..<2 { foreign.resume() }
    foreign.resume(for: "a reason")
  }
}

private actor Target {}

extension FIFOQueue: Enqueuing {}

private protocol Enqueuing {
  func enqueue(_ task: @escaping @Sendable () async -> Void)
}
