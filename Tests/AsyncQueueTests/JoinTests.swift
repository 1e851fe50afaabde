import AsyncQueue
import TestSupport
import Testing

/// Operations that join others with the same key, and reports of progress.
@Suite(.watched) struct JoinTests {
  typealias Kind = OptionTests.Kind

  private static let joining = OperationOptions.with {
    $0.key = "k"
    $0.joins = true
  }

  @Test(arguments: Kind.all)
  func `one that joins another one ends as that does, and never runs`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    let (gate, ran) = (Gate(), Counter())
    queue.suspend()
    let first = enqueue(.with { $0.key = "k" }) {
      await gate.wait(for: "the test")
      return 5
    }
    let second = enqueue(Self.joining) { ran.add() }
    let behind = enqueue(.init()) { 6 }
    let third = enqueue(Self.joining) { ran.add() }
    queue.resume()
    await eventually("it runs") { first.state == .running }
    #expect(second.state == .pending && third.state == .pending)
    gate.open()
    for operation in [first, second, third] { #expect(try await operation.value == 5) }
    #expect(try await behind.value == 6)
    #expect(first.end == .finished && ran.value == 0)
    for operation in [second, third] {
      #expect(operation.end?.outcome == .finished && operation.end?.cause == .joined)
    }
    await queue.drained()
    #expect(queue.statistics.finished == 4)
    #expect(try await enqueue(Self.joining) { 7 }.value == 7)
  }

  @Test func `one that joins a body in its caller's task ends as that does, without its value`()
    async throws
  {
    let queue = FIFOQueue()
    let (begun, mayReturn) = (Gate(), Gate())
    async let value = queue.run(.with { $0.key = "k" }) {
      begun.open()
      await mayReturn.wait(for: "the other operation to have joined")
      return 5
    }
    await begun.wait(for: "the body to begin")
    let joined = queue.enqueueTask(Self.joining) { 6 }
    mayReturn.open()
    #expect(try await value == 5)
    await #expect(throws: QueueError.noValue) { try await joined.value }
    #expect(joined.end?.outcome == .finished && joined.end?.cause == .joined)
  }

  @Test(arguments: Kind.all)
  func `a failure and its error are of all that have joined`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    queue.suspend()
    let failing = enqueue(Self.joining) { throw OptionTests.Refusal(number: 3) }
    let second = enqueue(Self.joining) { 1 }
    queue.resume()
    for operation in [failing, second] {
      await #expect(throws: OptionTests.Refusal(number: 3)) { try await operation.value }
    }
    #expect(failing.end?.cause == nil && second.end?.cause == .joined)
    await queue.drained()
    #expect(queue.statistics.failed == 2)
  }

  @Test(arguments: Kind.all)
  func `one that has joined has the other's outcome, but a cause of its own`(kind: Kind) async {
    let (queue, enqueue) = kind.make(nil)
    queue.suspend()
    let first = enqueue(.with { ($0.key, $0.condition) = ("k", { .cancelled }) }) { 1 }
    let second = enqueue(Self.joining) { 2 }
    queue.resume()
    #expect(await first.waitForEnd() == .cancelled(.condition))
    #expect(await second.waitForEnd() == .cancelled(.joined))
    await queue.drained()
  }

  @Test(arguments: Kind.all)
  func `when the first one is cancelled, the next stands in for it`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    let log = Log<Int>()
    let begun = Gate()
    let first = enqueue(Self.joining) {
      begun.open()
      await untilCancelled()
      try Task.checkCancellation()
      return 0
    }
    let second = enqueue(Self.joining) {
      log.add(1)
      return 1
    }
    let third = enqueue(Self.joining) { 2 }
    let behind = enqueue(.init()) {
      log.add(3)
      return 3
    }
    await begun.wait(for: "the first one's start")
    // By then, an actor's queue has passed those that have joined.
    if kind.testDescription != "FIFO" { #expect(try await behind.value == 3) }
    first.cancel()
    #expect(try await second.value == 1)
    #expect(try await third.value == 1)
    #expect(first.end == .cancelled)
    #expect(try await behind.value == 3)
    #expect(log.entries == (kind.testDescription == "FIFO" ? [1, 3] : [3, 1]))
    await queue.drained()
  }

  @Test(arguments: Kind.all)
  func `one that has joined is cancelled alone`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    queue.suspend()
    let operations = (0..<4).map { number in enqueue(Self.joining) { number } }
    operations[2].cancel()
    operations[0].cancel()
    queue.resume()
    #expect(await operations[0].waitForEnd() == .cancelled)
    #expect(try await operations[1].value == 1)
    #expect(await operations[2].waitForEnd() == .cancelled)
    #expect(try await operations[3].value == 1)
    await queue.drained()
    #expect(queue.statistics.cancelled == 2 && queue.statistics.finished == 2)
  }

  @Test(arguments: Kind.all)
  func `events tell of each one that has joined`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    let events = queue.events()
    queue.suspend()
    let operations = ["a", "b"].map { name in
      enqueue(
        .with {
          ($0.key, $0.joins, $0.label) = ("k", true, name)
        }
      ) { 1 }
    }
    queue.resume()
    for operation in operations { #expect(await operation.waitForEnd().isFinished) }
    var told: [String] = []
    for await event in events {
      let name = event.operation?.label.map { String($0.prefix(1)) } ?? ""
      switch event {
      case .enqueued: told.append("enqueued " + name)
      case .joined: told.append("joined " + name)
      case .started: told.append("started " + name)
      case .ended(_, let end) where end.isFinished:
        told.append("ended \(name)" + (end.cause.map { ", \($0)" } ?? ""))
      default: continue
      }
      if told.count == 5 { break }
    }
    #expect(told == ["enqueued a", "joined b", "started a", "ended a", "ended b, joined"])
  }

  @Test func `in the caller's task there is nothing to join with`() async throws {
    let queue = FIFOQueue()
    do {
      try await queue.run(Self.joining) {}
      Issue.record("it has run")
    } catch QueueError.unsupported(let text) {
      #expect(text.contains("joins") && text.contains("enqueueTask"))
    }
    // Its value goes only to its caller.
    let (gate, begun) = (Gate(), Gate())
    async let first: Int = queue.run(.with { $0.key = "k" }) {
      begun.open()
      await gate.wait(for: "the test")
      return 5
    }
    await begun.wait(for: "its start")
    let second = queue.enqueueTask(Self.joining) { 6 }
    gate.open()
    #expect(try await first == 5)
    await #expect(throws: QueueError.noValue) { try await second.value }
  }

  @Test(arguments: Kind.all)
  func `a body says how far it has come, in its task or a child task`(kind: Kind) async throws {
    let (_, enqueue) = kind.make(nil)
    let gates = (0..<2).map { _ in Gate() }
    let operation = enqueue(.init()) {
      #expect(OperationProgress.report(completed: 1, total: 0))
      await gates[0].wait(for: "the test")
      async let child = OperationProgress.report(completed: 2, total: 3)
      #expect(await child)
      await gates[1].wait(for: "the test")
      // A task that it leaves behind is not part of it.
      let other = Task { OperationProgress.report(completed: 3, total: 3) }
      #expect(await !other.value)
      return 0
    }
    await eventually("it says so") {
      operation.progress == OperationProgress(completed: 1, total: 0)
    }
    let observed = operation.observedProgress
    gates[0].open()
    await eventually("its child says so") {
      observed.value == OperationProgress(completed: 2, total: 3)
    }
    gates[1].open()
    #expect(await operation.waitForEnd() == .finished)
    #expect(operation.progress == OperationProgress(completed: 2, total: 3))
  }

  @Test func `progress is of the innermost operation, if somebody can ask for it`() async throws {
    let queue = FIFOQueue()
    #expect(!OperationProgress.report(completed: 1, total: 2))
    let outer = queue.enqueueTask {
      let inner = FIFOQueue()
      await inner.run {
        await Task.yield()
        #expect(!OperationProgress.report(completed: 2, total: 2))
      }
      try await inner.run(.with { $0.label = "inner" }) {
        #expect(OperationProgress.report(completed: 2, total: 2))
      }
      #expect(OperationProgress.report(completed: 1, total: 2))
    }
    #expect(await outer.waitForEnd() == .finished)
    #expect(outer.progress == OperationProgress(completed: 1, total: 2))
  }

  @Test func `however often a program asks, it costs the same to find out where a task is`() {
    let queue = FIFOQueue()
    // This used up the stack, after a time that grew with the square.
    for _ in 0..<scaled(200_000) { _ = OperationProgress.report(completed: 1, total: 2) }
    withExtendedLifetime(queue) {}
  }
}
