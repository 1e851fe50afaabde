import AsyncQueue
import TestSupport
import Testing

/// Operations with a common end.
@Suite(.watched) struct BatchTests {
  typealias Kind = OptionTests.Kind
  typealias Refusal = OptionTests.Refusal

  @Test(arguments: Kind.all)
  func `a batch of all ends when each has, as the first in the list that did not finish`(
    kind: Kind
  ) async throws {
    let (queue, enqueue) = kind.make(nil)
    let gate = Gate()
    let numbers = [0, 1, 2, 3]
    let operations = numbers.map { number in
      enqueue(.init()) {
        if number == 3 { await gate.wait(for: "the test") }
        if number > 0 { throw Refusal(number: number) }
        return number
      }
    }
    let batch = Batch.all(operations)
    await eventually("three have ended") { batch.progress.completed == 3 }
    #expect(batch.end == nil && batch.progress.total == 4)
    let told = Report.snapshot()
    let queues = told.filter { $0.kind == "queue" && $0.label == queue.label }.map(\.id)
    #expect(
      told.contains {
        $0.kind == "batch" && queues.contains($0.queue) && ($0.count, $0.ended) == (4, 3)
      })
    gate.open()
    let end = try await batch.waitForEnd()
    #expect(end.error as? Refusal == Refusal(number: 1) && batch.end == end)
    #expect(batch.decidedBy === operations[1] && batch.progress.fraction == 1)
    await queue.drained()
  }

  @Test(arguments: Kind.all)
  func `the first error cancels the rest, pending and running`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    let other = FIFOQueue()
    let (begun, ran) = (Gate(), Counter())
    let running = other.enqueueTask { () async throws -> Int in
      begun.open()
      await untilCancelled()
      try Task.checkCancellation()
      return 0
    }
    queue.suspend()
    let failing = enqueue(.init()) {
      await begun.wait(for: "the running one")
      throw Refusal(number: 5)
    }
    let behind = other.enqueueTask { ran.add() }
    let batch = Batch.firstError([running, failing, behind])
    queue.resume()
    #expect(try await batch.waitForEnd().error as? Refusal == Refusal(number: 5))
    #expect(batch.decidedBy === failing)
    #expect(running.end == .cancelled && behind.end == .cancelled && ran.value == 0)
    await queue.drained()
  }

  @Test(arguments: Kind.all)
  func `enough that finish are enough`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    queue.suspend()
    let ran = Counter()
    let failing = enqueue(.init()) { throw Refusal() }
    let operations = [failing] + (0..<2).map { _ in enqueue(.init()) { ran.add() } }
    let last = enqueue(.with { $0.after = [operations[2]] }) { ran.add() }
    let batch = Batch.enough(2, of: operations)
    let tooFew = Batch.enough(3, of: operations)
    let two = Batch.enough(2, of: [last, failing])
    queue.resume()
    #expect(try await batch.waitForEnd() == .finished && batch.decidedBy == nil)
    #expect(try await tooFew.waitForEnd().error is Refusal && tooFew.decidedBy === failing)
    #expect(try await two.waitForEnd().error is Refusal && two.decidedBy === failing)
    #expect(ran.value == 3)
    queue.suspend()
    let others = (0..<3).map { _ in enqueue(.init()) { ran.add() } }
    let resolved = enqueue(.with { $0.key = "k" }) { ran.add() }
    let one = Batch.enough(1, of: others + [resolved])
    #expect(queue.resolve(key: "k") == 1)
    #expect(try await one.waitForEnd() == .finished)
    #expect(others.allSatisfy { $0.end == .cancelled } && ran.value == 3)
    queue.resume()
  }

  @Test(arguments: Kind.all)
  func `what is collected finishes however its operations end, unless it is cancelled`(
    kind: Kind
  ) async throws {
    let (queue, enqueue) = kind.make(nil)
    let collected = Batch.collect([enqueue(.init()) { throw Refusal() }, enqueue(.init()) { 1 }])
    #expect(try await collected.waitForEnd() == .finished && collected.decidedBy == nil)
    queue.suspend()
    let operations = (0..<3).map { number in enqueue(.init()) { number } }
    let cancelled = Batch.collect(operations)
    cancelled.cancel()
    queue.resume()
    #expect(try await cancelled.waitForEnd() == .cancelled)
    #expect(operations.allSatisfy { $0.end == .cancelled })
  }

  @Test func `a batch of nothing, and of what has ended, has ended`() async throws {
    #expect(Batch.all([]).end == .finished)
    #expect(try await Batch.firstError([]).waitForEnd() == .finished)
    let queue = FIFOQueue()
    let operation = queue.enqueueTask { throw Refusal(number: 1) }
    _ = await operation.waitForEnd()
    #expect(Batch.firstError([operation, operation]).end?.error as? Refusal == Refusal(number: 1))
    Reports.begin()
    queue.close()
    let refused = Batch.all([queue.enqueueTask {}])
    #expect(refused.end == .refused(.closed))
  }

  @Test func `what its operations come after is their own affair, in any queues`() async throws {
    let log = Log<Int>()
    let queues = (0..<3).map { _ in FIFOQueue() }
    var operations: [QueuedOperation] = []
    for number in 0..<300 {
      let before = operations.suffix(3).filter { _ in number.isMultiple(of: 2) }
      operations.append(
        queues[number % 3].enqueueTask(.with { $0.after = before }) {
          await Task.yield()
          log.add(number)
        })
    }
    let batch = Batch.all(operations)
    async let other = batch.waitForEnd()
    #expect(try await batch.waitForEnd() == .finished)
    #expect(try await other == .finished && log.entries.count == 300)
  }

  @Test func `it goes on when nobody keeps it, and cancels what is left`() async {
    let queue = FIFOQueue()
    queue.suspend()
    let operations = (0..<2).map { _ in queue.enqueueTask {} }
    _ = Batch.firstError(operations)
    operations[0].cancel()
    #expect(await operations[1].waitForEnd() == .cancelled)
    queue.resume()
  }

  @Test func `waiting inside one of its operations is refused`() async throws {
    Reports.begin()
    let queue = FIFOQueue(label: "own")
    let isRefused = queue.enqueueTask { () async throws -> Bool in
      do {
        try await Batch.all([queue.enqueueTask { 1 }]).waitForEnd()
        return false
      } catch QueueError.deadlock(let ring) {
        return ring.contains("own")
      }
    }
    #expect(try await isRefused.value)
  }
}
