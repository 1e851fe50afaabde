import AsyncQueue
import TestSupport
import Testing

/// What operations of these queues wait for, and how their options work.
@Suite(.watched) struct OptionTests {
  typealias Body = nonisolated(nonsending) @Sendable () async throws -> Int

  /// A queue of one of the kinds, and how to enqueue there.
  struct Kind: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let make: @Sendable (ManualClock?) -> (any WorkQueue, Enqueue)

    typealias Enqueue = @Sendable (OperationOptions, @escaping Body) -> QueuedResult<Int>

    static let all = [
      Kind(testDescription: "FIFO") { clock in
        let queue = FIFOQueue(label: "a FIFO queue", clock: clock)
        return (queue, { queue.enqueueTask($0, $1) })
      },
      Kind(testDescription: "actor") { clock in
        let notes = Notes()
        let queue = ActorQueue(of: notes, label: "an actor's queue", clock: clock)
        return (
          queue,
          { options, body in
            withExtendedLifetime(notes) { queue.enqueueTask(options) { _ in try await body() } }
          }
        )
      },
      Kind(testDescription: "main actor") { clock in
        let queue = MainActorQueue(label: "a main queue", clock: clock)
        return (queue, { options, body in queue.enqueueTask(options) { try await body() } })
      },
    ]
  }

  struct Refusal: Error, Equatable { var number = 0 }

  @Test(arguments: Kind.all)
  func `an operation gives its value or error, its state and its end`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    let gate = Gate()
    let first = enqueue(.init()) {
      await gate.wait(for: "the test")
      return 5
    }
    let failing = enqueue(.init()) { throw Refusal() }
    await eventually("it runs") { first.state == .running }
    #expect(first.end == nil)
    gate.open()
    #expect(try await first.value == 5)
    await #expect(throws: Refusal()) { try await failing.value }
    #expect(first.end == .finished && failing.end?.error is Refusal)
    #expect(first.state == .ended)
    await queue.drained()
    #expect(queue.statistics.finished == 1 && queue.statistics.failed == 1)
  }

  @Test(arguments: Kind.all)
  func `a pending one that is cancelled never runs, a running one's task is cancelled`(kind: Kind)
    async throws
  {
    let (queue, enqueue) = kind.make(nil)
    queue.suspend()
    let ran = Counter()
    let pending = enqueue(.init()) { ran.add() }
    pending.cancel()
    #expect(await pending.waitForEnd() == .cancelled)
    queue.resume()
    let running = enqueue(.init()) {
      await untilCancelled()
      try Task.checkCancellation()
      return 1
    }
    await eventually("it runs") { running.state == .running }
    running.cancel()
    #expect(await running.waitForEnd() == .cancelled)
    await #expect(throws: QueueError.ended(.cancelled)) { try await running.value }
    #expect(ran.value == 0)
    await queue.drained()
    #expect(queue.statistics.cancelled == 2)
  }

  @Test(arguments: Kind.all)
  func `it comes after operations of other queues, and those behind it wait, too`(kind: Kind)
    async throws
  {
    let other = FIFOQueue()
    let (queue, enqueue) = kind.make(nil)
    let (gate, log) = (Gate(), Log<Int>())
    let first = other.enqueueTask {
      await gate.wait(for: "the test")
      log.add(1)
    }
    let second = enqueue(.with { $0.after = [first] }) {
      log.add(2)
      return 2
    }
    let third = enqueue(.init()) {
      log.add(3)
      return 3
    }
    #expect(queue.statistics.pending == 2)
    gate.open()
    #expect(try await second.value == 2)
    #expect(try await third.value == 3)
    #expect(log.entries == [1, 2, 3])
  }

  @Test(arguments: Kind.all)
  func `one that needs another one to finish is cancelled when that fails`(kind: Kind) async throws
  {
    let (queue, enqueue) = kind.make(nil)
    let ran = Counter()
    let failing = enqueue(.init()) { throw Refusal() }
    let needing = OperationOptions.with {
      $0.after = [failing]
      $0.needsFinished = true
    }
    let cancelled = enqueue(needing) { ran.add() }
    #expect(await cancelled.waitForEnd() == .cancelled(.dependency))
    #expect(await enqueue(needing) { ran.add() }.waitForEnd() == .cancelled(.dependency))
    #expect(try await enqueue(.with { $0.after = [failing] }) { 7 }.value == 7)
    #expect(ran.value == 0)
    await queue.drained()
  }

  @Test func `operations that need a name run one at a time, in all queues`() async throws {
    let running = Counter()
    let queues = Kind.all.map { $0.make(nil) }
    var operations: [QueuedResult<Int>] = []
    for number in 0..<300 {
      let names =
        number.isMultiple(of: 3) ? ["a", "b"] : number.isMultiple(of: 2) ? ["a"] : ["b", "a"]
      operations.append(
        queues[number % 3].1(.with { $0.exclusive = names }) {
          #expect(running.add() == 1)
          await Task.yield()
          running.add(-1)
          return number
        })
    }
    for (number, operation) in operations.enumerated() {
      #expect(try await operation.value == number)
    }
  }

  @Test func `chains across queues, enqueued by many threads, all run in their order`() async throws
  {
    let queues = Kind.all.map { $0.make(nil).1 }
    try await withThrowingTaskGroup { group in
      for thread in 0..<4 {
        group.addTask {
          let log = Log<Int>()
          var last: QueuedOperation?
          for number in 0..<100 {
            let operation = queues[(thread + number) % 3](
              .with { $0.after = last.map { [$0] } ?? [] }
            ) {
              log.add(number)
              return number
            }
            last = operation
          }
          #expect(await last!.waitForEnd() == .finished)
          #expect(log.entries == Array(0..<100))
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(arguments: Kind.all)
  func `a condition is asked in the operation's turn`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    let (gate, asked, ran) = (Gate(), Counter(), Counter())
    let first = enqueue(.init()) {
      await gate.wait(for: "the test")
      return 0
    }
    let isNeeded = Log<Bool>()
    let verdicts: [OperationEnd?] = [nil, .skipped, .cancelled]
    let operations = verdicts.map { verdict in
      enqueue(
        .with {
          $0.after = [first]
          $0.condition = {
            isNeeded.add(first.end != nil)
            asked.add()
            return verdict
          }
        }
      ) { ran.add() }
    }
    #expect(asked.value == 0)
    gate.open()
    #expect(await operations[0].waitForEnd() == .finished)
    #expect(await operations[1].waitForEnd() == .skipped)
    #expect(await operations[2].waitForEnd() == .cancelled(.condition))
    #expect(asked.value == 3 && ran.value == 1)
    await queue.drained()
    #expect(queue.statistics.finished == 3 && queue.statistics.cancelled == 1)
  }

  @Test(arguments: Kind.all)
  func `a failure is retried after its delay, by the queue's clock`(kind: Kind) async throws {
    let clock = ManualClock()
    let (queue, enqueue) = kind.make(clock)
    let attempts = Counter()
    let retry = Retry(maxAttempts: 3, delay: .seconds(10), factor: 2)
    let body: Body = {
      if attempts.add() < 3 { throw Refusal(number: attempts.value) }
      return attempts.value
    }
    let operation = enqueue(.with { $0.retry = retry }, body)
    // The timer for a delay is armed shortly after the attempt has failed.
    for count in 1...3 {
      await eventually("attempt \(count)") {
        clock.advance(by: .seconds(count == 1 ? 0 : 10))
        return attempts.value == count
      }
    }
    #expect(try await operation.value == 3)
    #expect(clock.now >= .seconds(30))
    let hopeless = enqueue(
      .with { $0.retry = Retry { error, _ in error as? Refusal != Refusal() } }
    ) {
      throw Refusal()
    }
    await #expect(throws: Refusal()) { try await hopeless.value }
    await queue.drained()
    #expect(queue.statistics.failed == 1)
  }

  @Test(arguments: Kind.all)
  func `a key, a name or a reason with a zero in it is none that ends there`(kind: Kind) async {
    let (queue, enqueue) = kind.make(nil)
    let ran = Counter()
    queue.suspend(for: "a\0b")
    queue.suspend(for: "a")
    let bystander = enqueue(.with { $0.key = "a" }) { ran.add() }
    let named = enqueue(
      .with {
        $0.key = "a\0b"
        $0.exclusive = ["a\0b", "a"]
      }
    ) { ran.add() }
    #expect(queue.cancel(key: "a\0b") == 1 && queue.resolve(key: "a\0b") == 0)
    #expect(await named.waitForEnd() == .cancelled(.request))
    queue.resume(for: "a")
    queue.resume(for: "a\0b")
    #expect(await bystander.waitForEnd() == .finished)
    await queue.drained()
    #expect(ran.value == 1)
  }

  @Test(arguments: Kind.all)
  func `operations are found by their key, and go with their owner`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    let ran = Counter()
    var owner: Owner? = Owner(capacity: 1)
    queue.suspend(for: "the test")
    let keyed = (0..<3).map { _ in enqueue(.with { $0.key = "k" }) { ran.add() } }
    keyed[0].cancel()
    #expect(queue.resolve(key: "k") == 2)
    #expect(queue.cancel(key: "k") == 0)
    for operation in keyed.dropFirst() { #expect(await operation.waitForEnd() == .resolved) }
    let owned = enqueue(.with { [owner] in $0.owner = owner }) { ran.add() }
    let second = enqueue(.with { [owner] in $0.owner = owner }) { ran.add() }
    #expect(second.end == .refused(.full))
    owner = nil
    #expect(await owned.waitForEnd() == .cancelled(.owner))
    queue.resume(for: "the test")
    await queue.drained()
    #expect(ran.value == 0)
  }

  @Test(arguments: Kind.all)
  func `deadlines end it, and are told`(kind: Kind) async throws {
    let clock = ManualClock()
    let (queue, enqueue) = kind.make(clock)
    let begun = Gate()
    let running = enqueue(.with { $0.maxRun = .seconds(5) }) {
      begun.open()
      await untilCancelled()
      return 1
    }
    await begun.wait(for: "the operation to begin")
    clock.advance(by: .seconds(5))
    #expect(await running.waitForEnd() == .timedOut(.maxRun))
    await queue.drained()
    queue.suspend()
    let waiting = enqueue(.with { $0.maxWait = .seconds(3) }) { 1 }
    clock.advance(by: .seconds(3))
    #expect(await waiting.waitForEnd() == .timedOut(.maxWait))
    queue.resume()
  }

  @Test(arguments: Kind.all)
  func `what this kind of queue cannot do is refused, and reported`(kind: Kind) async throws {
    Reports.begin()
    let (queue, enqueue) = kind.make(nil)
    let changes: [@Sendable (inout OperationOptions) -> Void] = [
      { $0.priority = 1 }, { $0.isUrgent = true }, { $0.isBarrier = true },
    ]
    for change in changes {
      let refused = enqueue(.with(change)) { 1 }
      #expect(refused.end == .refused(.unsupported))
      do {
        _ = try await refused.value
        Issue.record("it gave a value")
      } catch QueueError.unsupported(let text) {
        #expect(text.contains("OperationOptions says which queues have"))
      }
    }
    queue.close()
    #expect(enqueue(.init()) { 1 }.end == .refused(.closed))
    #expect(
      await Reports.told(queue.label!, count: 4).map(\.kind).suffix(4)
        == Array(repeating: .refused, count: 4)[...])
  }

  @Test func `awaiting what is behind oneself is refused`() async throws {
    let queue = FIFOQueue(label: "own")
    let isRefused = queue.enqueueTask { () async throws -> Bool in
      do {
        _ = try await queue.enqueueTask { 1 }.value
        return false
      } catch QueueError.deadlock(let ring) {
        return ring.contains("own")
      }
    }
    #expect(try await isRefused.value)
  }
}
