import AsyncQueue
import TestSupport
import Testing

/// Operations that are attempted again, each attempt with its own turn and time.
@Suite(.watched) struct RetryTests {
  typealias Kind = OptionTests.Kind
  typealias Refusal = OptionTests.Refusal

  @Test(arguments: Kind.all)
  func `each attempt has all of its time, and one that exceeds it is retried`(kind: Kind)
    async throws
  {
    let clock = ManualClock()
    let (queue, enqueue) = kind.make(clock)
    let (begun, gates) = (Log<Int>(), (0..<4).map { _ in Gate() })
    let asked = Log<String>()
    let options = OperationOptions.with {
      $0.maxRun = .seconds(10)
      $0.retry = Retry(maxAttempts: 4) { error, attempts in
        asked.add("\(attempts) \(error is Refusal ? "failed" : "\(error)".suffix(18))")
        return true
      }
    }
    let operation = enqueue(options) {
      let number = begun.entries.count
      begun.add(number)
      if number == 1 {
        await untilCancelled()
        // It was asked to end because of its time, and only throws later.
        await gates[1].wait(for: "the test")
        throw Refusal(number: 1)
      }
      await gates[number].wait(for: "the test")
      if number < 3 { throw Refusal(number: number) }
      #expect(!Task.isCancelled)
      return number
    }
    await eventually("the first attempt") { begun.entries.count == 1 }
    clock.advance(by: .seconds(9))
    gates[0].open()
    await eventually("the second attempt") { begun.entries.count == 2 }
    clock.advance(by: .seconds(9))
    #expect(operation.end == nil)
    clock.advance(by: .seconds(1))
    await eventually("it is asked") { asked.entries.count == 2 }
    #expect(begun.entries.count == 2 && operation.end == nil)
    gates[1].open()
    await eventually("the third attempt") { begun.entries.count == 3 }
    clock.advance(by: .seconds(9))
    gates[2].open()
    await eventually("the last attempt") { begun.entries.count == 4 }
    clock.advance(by: .seconds(9))
    gates[3].open()
    #expect(try await operation.value == 3)
    #expect(asked.entries == ["1 failed", "2 timedOut (maxRun).", "3 failed"])
    await queue.drained()
    #expect(queue.statistics.finished == 1 && queue.statistics.failed == 0)
  }

  @Test(arguments: Kind.all)
  func `the last attempt's time is the operation's end, as it is without retries of that`(
    kind: Kind
  ) async throws {
    let clock = ManualClock()
    let (queue, enqueue) = kind.make(clock)
    var failuresOnly = Retry(maxAttempts: 3)
    failuresOnly.onlyFailures = true
    let retries = [
      (Retry(maxAttempts: 2), 2), (failuresOnly, 1), (Retry { _, _ in false }, 1),
    ]
    for (retry, count) in retries {
      let begun = Counter()
      let operation = enqueue(
        .with {
          $0.maxRun = .seconds(5)
          $0.retry = retry
        }
      ) {
        begun.add()
        await untilCancelled()
        return 1
      }
      for attempt in 1...count {
        await eventually("attempt \(attempt)") { begun.value == attempt }
        clock.advance(by: .seconds(5))
      }
      #expect(await operation.waitForEnd() == .timedOut(.maxRun))
      await queue.drained()
      #expect(begun.value == count)
    }
  }

  @Test(arguments: Kind.all)
  func `it is pending between attempts, where it is cancelled at once`(kind: Kind) async throws {
    let clock = ManualClock()
    let (queue, enqueue) = kind.make(clock)
    let begun = Counter()
    let events = queue.events()
    let operation = enqueue(.with { $0.retry = Retry(delay: .seconds(10)) }) {
      begun.add()
      throw Refusal()
    }
    await eventually("it waits") { begun.value == 1 && operation.state == .pending }
    operation.cancel()
    #expect(await operation.waitForEnd() == .cancelled)
    let behind = enqueue(.init()) { 7 }
    #expect(try await behind.value == 7)
    await queue.drained()
    #expect(begun.value == 1)
    var told: [String] = []
    for await event in events {
      switch event {
      case .enqueued: told.append("enqueued")
      case .started: told.append("started")
      case .retrying: told.append("retrying")
      case .ended(_, let end): told.append("\(end)")
      default: continue
      }
      if told.count == 7 { break }
    }
    #expect(
      told == ["enqueued", "started", "retrying", "cancelled", "enqueued", "started", "finished"])
  }

  @Test(arguments: Kind.all)
  func `a failure that is not worth another attempt is told once`(kind: Kind) async throws {
    let (queue, enqueue) = kind.make(nil)
    let events = queue.events()
    let retries = [
      Retry(maxAttempts: 2), Retry { _, attempts in attempts < 2 }, Retry(maxAttempts: 1),
    ]
    for retry in retries {
      let operation = enqueue(.with { $0.retry = retry }) { throw Refusal() }
      await #expect(throws: Refusal()) { try await operation.value }
    }
    await queue.drained()
    var told: [String] = []
    for await event in events {
      switch event {
      case .started: told.append("started")
      case .retrying: told.append("retrying")
      case .ended(_, let end): told.append("\(end.outcome)")
      default: continue
      }
      if told.count == 10 { break }
    }
    let twice = ["started", "retrying", "started", "failed"]
    #expect(told == twice + twice + ["started", "failed"])
  }

  @Test(arguments: Kind.all)
  func `a FIFO queue keeps the place, an actor's lets others begin`(kind: Kind) async throws {
    let clock = ManualClock()
    let (queue, enqueue) = kind.make(clock)
    let log = Log<Int>()
    queue.suspend()
    let first = enqueue(.with { $0.retry = Retry(maxAttempts: 2, delay: .seconds(10)) }) {
      log.add(1)
      if log.entries.count(where: { $0 == 1 }) == 1 { throw Refusal() }
      return 1
    }
    let second = enqueue(.init()) {
      log.add(2)
      return 2
    }
    queue.resume()
    await eventually("it waits") { log.entries.first == 1 && first.state == .pending }
    if kind.testDescription == "FIFO" {
      #expect(second.state == .pending)
    } else {
      #expect(try await second.value == 2)
    }
    await eventually("the second attempt") {
      clock.advance(by: .seconds(10))
      return log.entries.count(where: { $0 == 1 }) == 2
    }
    #expect(try await first.value == 1)
    #expect(try await second.value == 2)
    #expect(log.entries == (kind.testDescription == "FIFO" ? [1, 1, 2] : [1, 2, 1]))
  }

  @Test func `many that fail and are cancelled all end, and leave nothing`() async {
    let queues = Kind.all.map { $0.make(nil) }
    var operations: [QueuedOperation] = []
    var cancelled: Set<Int> = []
    for number in 0..<3000 {
      let failures = Counter()
      operations.append(
        queues[number % 3].1(.with { $0.retry = Retry(maxAttempts: 3) }) {
          if failures.add() < 2 + number % 3 { throw Refusal() }
          return number
        })
      if number.isMultiple(of: 7) {
        operations[number / 2].cancel()
        cancelled.insert(number / 2)
      }
    }
    for (number, operation) in operations.enumerated() {
      let end = await operation.waitForEnd()
      // If it was running then, it may have failed, and is not attempted again.
      if cancelled.contains(number) { continue }
      let isTooOften = number % 3 == 2
      #expect(end.outcome == (isTooOften ? .failed : .finished), "\(number)")
    }
    for queue in queues { await queue.0.drained() }
  }
}
