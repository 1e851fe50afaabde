import Dispatch
import TestSupport
import Testing

@testable import AsyncOperation

/// What decides when an operation starts, besides its turn.
@Suite(.watched) struct ConcurrentOrderingTests {
  @Test func `no more operations start than the rate lets`() async throws {
    let stage = QueueStage(limit: 4)
    stage.queue.setRate(maxStarts: 1, interval: .seconds(1), burst: 2)
    let held = ["a", "b", "c", "d"].map { stage.hold($0) }
    for operation in held[..<2] { #expect(await operation.hasStarted()) }
    #expect(stage.queue.statistics.pending == 2)
    #expect(stage.queue.statistics.nextStart == .seconds(1))
    stage.advance(1_000)
    #expect(await held[2].hasStarted())
    #expect(stage.queue.statistics.nextStart == .seconds(2))
    stage.queue.removeRate()
    #expect(await held[3].hasStarted())
    #expect(stage.queue.statistics.nextStart == nil)
    for operation in held { operation.takeToken()?.finish() }
    #expect(try await stage.isDrained())
  }

  typealias Options = OperationOptions

  @Test @MainActor func `tasks of one actor run in the order of their calls`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 1)
    let log = Log<Int>()
    let callers = (0..<100).map { number in Task { try await queue.run { log.add(number) } } }
    for caller in callers { try await caller.value }
    #expect(log.entries == Array(0..<100))
  }

  @Test func `higher priorities start first and equal ones in order`() async throws {
    let stage = QueueStage()
    stage.queue.suspend()
    for (number, priority) in [0, 2, -1, 2, 0].enumerated() {
      stage.note("\(number)", .with { $0.priority = Int32(priority) })
    }
    stage.queue.resume()
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == ["1", "3", "0", "4", "2"])
  }

  @Test func `no priority waits for ever`() async throws {
    let stage = QueueStage()
    stage.queue.suspend()
    stage.note("low", .with { $0.priority = -5 })
    for _ in 0..<100 { stage.note("high", .with { $0.priority = 5 }) }
    stage.queue.resume()
    #expect(try await stage.isDrained())
    #expect(stage.log.entries.firstIndex(of: "low") == 64)
  }

  @Test func `an operation starts when those that it comes after have ended, in any queue`()
    async throws
  {
    let (stage, other) = (QueueStage(limit: 4), QueueStage(limit: 4))
    let (first, second) = (stage.hold("first"), other.hold("second"))
    let later = stage.hold(
      "later", .with { $0.after = [first.operation, second.operation] })
    #expect(await first.hasStarted())
    #expect(await second.hasStarted())
    first.token.finish()
    #expect(await first.operation.endInTime() == "finished")
    #expect(later.operation.state == .pending)
    second.token.fail(Failure(number: 1))
    #expect(await later.hasStarted())
    later.token.finish()
    #expect(stage.log.entries == ["first", "later"])
  }

  @Test func `one that needs its dependencies ends when they do not finish`() async throws {
    let stage = QueueStage(limit: 2)
    let ends: [@Sendable (FinishToken) -> Void] = [
      { $0.finish() }, { $0.fail(Failure(number: 1)) }, { $0.cancel() }, { _ in },
    ]
    var results: [String] = []
    for end in ends {
      let first = stage.queue.enqueue(work: end)
      let second = stage.queue.enqueue(after: first)
      let third = stage.queue.enqueue(after: second)
      results += [await second.endInTime(), await third.endInTime()]
    }
    let gone = "cancelled(dependency)"
    #expect(results == ["finished", "finished", gone, gone, gone, gone, gone, gone])
  }

  @Test func `a dependency that has ended, or was refused, is known`() async throws {
    let stage = QueueStage()
    let ended = stage.note("ended")
    #expect(await ended.endInTime() == "finished")
    #expect(await stage.queue.enqueue(after: ended).endInTime() == "finished")
    let closed = ConcurrentQueue()
    closed.close()
    let refused = closed.enqueue { $0.finish() }
    #expect(await stage.queue.enqueue(after: refused).endInTime() == "cancelled(dependency)")
    let indifferent = stage.note("indifferent", .with { $0.after = [refused] })
    #expect(await indifferent.endInTime() == "finished")
  }

  @Test func `a chain of many operations runs in order`() async throws {
    let stage = QueueStage(limit: 4)
    var last: QueuedOperation?
    for number in 0..<1_000 {
      last = stage.note("\(number)", .with { $0.after = last.map { [$0] } ?? [] })
    }
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == (0..<1_000).map { "\($0)" })
  }

  @Test func `a chain whose first one is cancelled ends whole`() async throws {
    let stage = QueueStage(limit: 2)
    stage.queue.suspend()
    let first = stage.note("first")
    var chain = [first]
    for _ in 0..<scaled(10_000) { chain.append(stage.queue.enqueue(after: chain.last!)) }
    first.cancel()
    for operation in chain.dropFirst() {
      #expect(await operation.waitForEnd().text == "cancelled(dependency)")
    }
    stage.queue.resume()
  }

  @Test func `random graphs run each operation after all that it comes after`() async throws {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<scaled(20) {
      let queues = (1...3).map { ConcurrentQueue(maxConcurrent: $0) }
      let log = Log<Int>()
      var operations: [QueuedOperation] = []
      var earlier: [[Int]] = []
      for number in 0..<200 {
        let places = (0..<Int.random(in: 0...3, using: &random)).compactMap { _ in
          number == 0 ? nil : Int.random(in: 0..<number, using: &random)
        }
        earlier.append(places)
        let options = Options.with { options in
          options.after = places.map { operations[$0] }
          options.priority = Int32.random(in: -1...1, using: &random)
        }
        let queue = queues[Int.random(in: 0..<3, using: &random)]
        operations.append(
          queue.enqueue(options) { token in
            log.add(number)
            if number % 2 == 0 {
              token.finish()
            } else {
              DispatchQueue.global().async { token.finish() }
            }
          })
      }
      for queue in queues { try await queue.drain(timeout: .seconds(Limit.seconds)) }
      var positions = [Int](repeating: -1, count: 200)
      for (position, number) in log.entries.enumerated() { positions[number] = position }
      #expect(log.entries.count == 200 && !positions.contains(-1))
      for (number, places) in earlier.enumerated() {
        for place in places { #expect(positions[place] < positions[number]) }
      }
    }
  }

  @Test func `a barrier starts after all before it and before all behind it`() async throws {
    let stage = QueueStage(limit: 4)
    let before = [stage.hold("before"), stage.hold("before")]
    let barrier = stage.hold("barrier", .with { $0.isBarrier = true })
    let behind = stage.note("behind", .with { $0.priority = 9 })
    for held in before { #expect(await held.hasStarted()) }
    before[0].token.finish()
    #expect(await before[0].operation.endInTime() == "finished")
    #expect(barrier.operation.state == .pending)
    before[1].token.finish()
    #expect(await barrier.hasStarted())
    #expect(behind.state == .pending)
    barrier.token.finish()
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == ["before", "before", "barrier", "behind"])
  }

  @Test func `of those that share a name one runs at a time, in whatever queues`() async throws {
    let queues = (0..<3).map { _ in ConcurrentQueue(maxConcurrent: 4) }
    let running = (0..<3).map { _ in Counter() }
    let count = scaled(300)
    for number in 0..<count {
      // Each takes two of three names, in either order.
      let names = [number % 3, (number + 1 + number / 3 % 2) % 3]
      queues[number % 3].enqueue(.with { $0.exclusive = names.map { "table \($0)" } }) {
        token in
        for name in names { running[name].up() }
        DispatchQueue.global().async {
          for name in names { running[name].down() }
          token.finish()
        }
      }
    }
    for queue in queues { try await queue.drain(timeout: .seconds(Limit.seconds)) }
    #expect(running.map(\.highest) == [1, 1, 1])
    #expect(queues.map(\.statistics.finished).reduce(0, +) == count)
  }

  @Test func `a condition is asked just before the start`() async throws {
    let stage = QueueStage()
    let first = stage.hold("first")
    let verdict = Protected(OperationEnd?.none)
    let operations = (0..<3).map { number in
      stage.note(
        "\(number)",
        .with {
          $0.condition = { number == 0 ? verdict.withLock { $0 } : number == 1 ? .cancelled : nil }
        }
      )
    }
    #expect(await first.hasStarted())
    verdict.withLock { $0 = .skipped }
    first.token.finish()
    var ends: [String] = []
    for operation in operations { ends.append(await operation.endInTime()) }
    #expect(ends == ["finished(skipped)", "cancelled(condition)", "finished"])
    #expect(stage.log.entries == ["first", "2"])
  }

  // MARK: Retries

  @Test func `a failure is tried again after its delay, with a new token`() async throws {
    let stage = QueueStage()
    let held = stage.hold(
      "attempt", .with { $0.retry = Retry(delay: .seconds(1), factor: 2, maxDelay: .seconds(3)) })
    var tokens: [FinishToken] = []
    for delay in [1_000, 2_000, 3_000, 3_000] as [Int64] {
      #expect(await held.hasStarted())
      let token = held.takeToken()!
      tokens.append(token)
      #expect(token.fail(Failure(number: 1)))
      // Once the operation is pending again, the queue has seen the failure.
      while held.operation.state != .pending { await Task.yield() }
      stage.advance(delay - 1)
      #expect(held.operation.state == .pending)
      stage.advance(1)
    }
    #expect(await held.hasStarted())
    for token in tokens { #expect(!token.finish()) }
    #expect(held.token.finish())
    #expect(await held.operation.endInTime() == "finished")
    #expect(stage.log.entries.count == 5)
  }

  @Test func `attempts end with the last error when they are used up`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 1)
    let attempts = Counter()
    let operation = queue.enqueueFunction(.with { $0.retry = Retry(maxAttempts: 3) }) {
      attempts.up()
      throw Failure(number: attempts.value)
    }
    #expect(await operation.endInTime() == "failed(3)")
    #expect(attempts.value == 3)
  }

  @Test func `a function that succeeds in the end gives its value`() async throws {
    let queue = ConcurrentQueue()
    let attempts = Counter()
    let value = try await queue.run(.with { $0.retry = Retry() }) {
      attempts.up()
      if attempts.value < 4 { throw Failure(number: attempts.value) }
      return attempts.value
    }
    #expect(value == 4)
  }

  @Test func `a predicate says which errors are worth another attempt`() async throws {
    let queue = ConcurrentQueue()
    let (asked, attempts) = (Log<String>(), Counter())
    let retry = Retry { error, attempts in
      let number = (error as? Failure)?.number ?? -1
      asked.add("\(number) after \(attempts)")
      return number < 3
    }
    let operation = queue.enqueueFunction(.with { $0.retry = retry }) {
      attempts.up()
      throw Failure(number: attempts.value)
    }
    #expect(await operation.endInTime() == "failed(3)")
    #expect(asked.entries == ["1 after 1", "2 after 2", "3 after 3"])
  }

  @Test func `jitter only shortens a delay`() async throws {
    let stage = QueueStage()
    let held = stage.hold("attempt", .with { $0.retry = Retry(delay: .seconds(10), jitter: 0.5) })
    #expect(await held.hasStarted())
    held.takeToken()!.fail(Failure(number: 1))
    while held.operation.state != .pending { await Task.yield() }
    stage.advance(4_999)
    #expect(held.operation.state == .pending)
    stage.advance(5_001)
    #expect(await held.hasStarted())
    held.token.finish()
  }

  @Test func `cancelling between two attempts ends the operation`() async throws {
    let stage = QueueStage()
    let held = stage.hold("attempt", .with { $0.retry = Retry(delay: .seconds(10)) })
    #expect(await held.hasStarted())
    held.takeToken()!.fail(Failure(number: 1))
    while held.operation.state != .pending { await Task.yield() }
    held.operation.cancel()
    #expect(await held.operation.endInTime() == "cancelled(request)")
    #expect(stage.log.entries == ["attempt"])
  }

  @Test func `errors of attempts go when the operation has ended`() async throws {
    final class Witness: Error, Sendable {}
    weak var witness: Witness?
    let queue = ConcurrentQueue()
    let attempts = Counter()
    var operation: QueuedResult<Int>?
    do {
      let kept = Protected<Witness?>(Witness())
      witness = kept.withLock { $0 }
      operation = queue.enqueueFunction(.with { $0.retry = Retry() }) {
        attempts.up()
        let error = kept.withLock { kept in
          defer { kept = nil }
          return kept
        }
        if let error { throw error }
        return attempts.value
      }
    }
    #expect(try await operation!.value == 2)
    try await queue.drain(timeout: .seconds(Limit.seconds))
    #expect(witness == nil)
    operation = nil
  }

  // MARK: Keys and owners

  @Test func `those of one key run once and end together with one value`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 2)
    let (calls, gate) = (Counter(), Gate())
    let options = Options.with {
      $0.key = "page"
      $0.joins = true
    }
    let operations = (0..<5).map { number in
      queue.enqueueFunction(options) {
        calls.up()
        return gate.pass() ? number : -1
      }
    }
    gate.open()
    for operation in operations { #expect(try await operation.value == 0) }
    #expect(calls.value == 1)
    #expect(operations.map(\.end?.cause) == [nil] + Array(repeating: .joined, count: 4))
  }

  @Test func `those that have joined one that fails get its error`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 2)
    let gate = Gate()
    let options = Options.with {
      $0.key = "page"
      $0.joins = true
      $0.retry = Retry(maxAttempts: 2)
    }
    let operations = (0..<5).map { number in
      queue.enqueueFunction(options) { throw Failure(number: gate.pass() ? number : -1) }
    }
    gate.open()
    for operation in operations { #expect(await operation.endInTime() == "failed(0)") }
  }

  @Test func `one that has joined stands in for one that is cancelled`() async throws {
    let stage = QueueStage()
    let options = Options.with {
      $0.key = "page"
      $0.joins = true
    }
    stage.queue.suspend()
    let first = stage.note("first", options)
    let second = stage.note("second", options)
    first.cancel()
    stage.queue.resume()
    #expect(await first.endInTime() == "cancelled(request)")
    #expect(await second.endInTime() == "finished")
    #expect(stage.log.entries == ["second"])
  }

  @Test func `the operations of a key can be resolved and cancelled`() async throws {
    let stage = QueueStage()
    let running = stage.hold("running", .with { $0.key = "page" })
    #expect(await running.hasStarted())
    let pending = [
      stage.note("a", .with { $0.key = "page" }), stage.note("b", .with { $0.key = "page" }),
    ]
    #expect(stage.queue.resolve(key: "page") == 2)
    for operation in pending { #expect(await operation.endInTime() == "finished(resolved)") }
    #expect(stage.queue.cancel(key: "page") == 1)
    #expect(running.token.isCancelled)
    #expect(stage.queue.cancel(key: "other") == 0)
    running.token.cancel()
  }

  @Test func `when an owner goes away its operations in all queues are cancelled`() async throws {
    let (stage, other) = (QueueStage(), QueueStage())
    var owner: Owner? = Owner(capacity: 2)
    let options = Options.with { [owner] in $0.owner = owner }
    let running = stage.hold("running", options)
    #expect(await running.hasStarted())
    other.queue.suspend()
    let pending = other.note("pending", options)
    let refused = stage.note("refused", options)
    #expect(await refused.endInTime() == "refused(full)")
    owner!.goAway()
    #expect(await pending.endInTime() == "cancelled(owner)")
    #expect(running.token.isCancelled)
    running.token.cancel()
    #expect(await running.operation.endInTime() == "cancelled(owner)")
    #expect(await stage.note("late", options).endInTime() == "refused(owner)")
    owner = nil
    other.queue.resume()
  }

  // MARK: Events

  @Test func `events tell what happens in order`() async throws {
    let stage = QueueStage()
    var events = stage.queue.events().makeAsyncIterator()
    stage.queue.suspend()
    let first = stage.hold("first", .with { $0.retry = Retry(maxAttempts: 2) })
    stage.note("second")
    stage.queue.resume()
    #expect(await first.hasStarted())
    first.takeToken()!.fail(Failure(number: 1))
    #expect(await first.hasStarted())
    first.takeToken()!.finish()
    #expect(try await stage.isDrained())
    stage.queue.close()
    var told: [String] = []
    while let event = await events.next() {
      told.append(event.text)
      if event == .closed { break }
    }
    // The second operation's turn may come between the first one's attempts.
    let withoutSecond = told.filter { !$0.hasSuffix("2") }
    #expect(
      withoutSecond == [
        "suspended", "enqueued 1", "resumed", "started 1", "retrying 1", "started 1", "ended 1",
        "idle", "closed",
      ])
    #expect(told.filter { $0.hasSuffix("2") } == ["enqueued 2", "started 2", "ended 2"])
  }

  @Test func `events that are first read late tell what happens from then on`() async throws {
    let stage = QueueStage()
    let running = stage.hold("running")
    #expect(await running.hasStarted())
    stage.queue.enqueue {}
    var events = stage.queue.events().makeAsyncIterator()
    running.token.finish()
    var told: [String] = []
    while let event = await events.next() {
      told.append(event.text)
      if event == .idle { break }
    }
    #expect(told == ["ended 1", "ended", "idle"])
  }

  @Test func `events end with the queue`() async throws {
    var stage: QueueStage? = QueueStage()
    let events = stage!.queue.events()
    stage!.note("only")
    #expect(try await stage!.isDrained())
    stage = nil
    var kinds: [String] = []
    for await event in events { kinds.append("\(event.text.prefix { $0 != " " })") }
    #expect(kinds == ["enqueued", "started", "ended", "idle", "closed"])
  }
}

extension ConcurrentQueue {
  fileprivate func enqueue(work: @escaping @Sendable (FinishToken) -> Void)
    -> QueuedOperation
  {
    enqueue(OperationOptions(), work)
  }

  /// An operation that needs another one to finish.
  fileprivate func enqueue(after first: QueuedOperation) -> QueuedOperation {
    enqueue(
      .with {
        $0.after = [first]
        $0.needsFinished = true
      }
    ) { $0.finish() }
  }
}
