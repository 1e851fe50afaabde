import Dispatch
import Foundation
import InturnCore
import TestSupport
import Testing

@testable import AsyncOperation

/// When operations start, how many at a time, and the life of a queue.
@Suite(.watched) struct ConcurrentQueueTests {
  @Test func `a thousand operations one at a time begin and end in order`() async throws {
    let stage = QueueStage()
    for number in 0..<1_000 {
      stage.queue.enqueue { token in
        stage.log.add("\(number) begins")
        DispatchQueue.global().async {
          stage.log.add("\(number) ends")
          token.finish()
        }
      }
    }
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == (0..<1_000).flatMap { ["\($0) begins", "\($0) ends"] })
  }

  @Test func `a thousand plain closures one at a time run in order`() async throws {
    let stage = QueueStage()
    for number in 0..<1_000 {
      stage.queue.enqueue { stage.log.add("\(number)") }
    }
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == (0..<1_000).map { "\($0)" })
    #expect(stage.queue.statistics.finished == 1_000)
  }

  @Test func `one thread's operations keep their order among those of others`() async throws {
    let stage = QueueStage()
    let signal = Signal(count: 4)
    for thread in 0..<4 {
      Thread.detachNewThread {
        for number in 0..<scaled(1_000) {
          stage.queue.enqueue { stage.log.add("\(thread) \(number)") }
        }
        signal.raise()
      }
    }
    #expect(await signal.wait())
    #expect(try await stage.isDrained())
    for thread in 0..<4 {
      let own = stage.log.entries.filter { $0.hasPrefix("\(thread) ") }
      #expect(own == (0..<scaled(1_000)).map { "\(thread) \($0)" })
    }
  }

  @Test func `each of many operations is called once and ends once`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 4)
    let (calls, ends) = (Counter(), Counter())
    let count = scaled(2_000)
    // The counting of an operation's end may still be under way when it has ended.
    let counted = Signal(count: count)
    let operations = (0..<count).map { number in
      queue.enqueue { token in
        calls.up()
        DispatchQueue.global().async {
          let wins = [token.finish(), token.fail(Failure(number: 1)), token.cancel()]
          if wins == [true, false, false] { ends.up() }
          counted.raise()
        }
      }
    }
    for operation in operations { #expect(await operation.endInTime() == "finished") }
    #expect(await counted.wait())
    #expect(calls.value == count)
    #expect(ends.value == count)
    #expect(queue.statistics.finished == count)
  }

  @Test func `no more operations run than may`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 3)
    let running = Counter()
    let count = scaled(300)
    let signal = Signal(count: count)
    for _ in 0..<count {
      queue.enqueue { token in
        running.up()
        DispatchQueue.global().async {
          running.down()
          token.finish()
          signal.raise()
        }
      }
    }
    #expect(await signal.wait())
    #expect((1...3).contains(running.highest))
  }

  @Test func `the number of places can be changed while operations run`() async throws {
    let stage = QueueStage(limit: 1)
    #expect(stage.queue.maxConcurrent == 1)
    let held = (0..<4).map { stage.hold("\($0)") }
    #expect(await held[0].hasStarted())
    stage.queue.maxConcurrent = 3
    #expect(stage.queue.maxConcurrent == 3)
    #expect(await held[1].hasStarted())
    #expect(await held[2].hasStarted())
    stage.queue.maxConcurrent = 1
    held[0].token.finish()
    held[1].token.finish()
    #expect(await held[0].operation.endInTime() == "finished")
    #expect(await held[1].operation.endInTime() == "finished")
    #expect(held[3].operation.state == .pending)
    held[2].token.finish()
    #expect(await held[3].hasStarted())
    held[3].token.finish()
    #expect(try await stage.isDrained())
  }

  @Test func `a suspended queue starts nothing and goes on when all suspends are back`()
    async throws
  {
    let stage = QueueStage()
    stage.queue.suspend()
    stage.queue.suspend(for: "no network")
    let operation = stage.note("one")
    stage.queue.enqueue { stage.log.add("two") }
    stage.queue.resume()
    #expect(stage.queue.statistics.suspends == 1)
    #expect(operation.state == .pending)
    stage.queue.resume(for: "no network")
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == ["one", "two"])
  }

  @Test func `a closed queue refuses operations and does what it has`() async throws {
    let stage = QueueStage()
    stage.queue.suspend()
    stage.note("accepted")
    stage.queue.close()
    stage.queue.close()
    let refused = stage.note("refused")
    #expect(refused.state == .ended)
    #expect(await refused.endInTime() == "refused(closed)")
    stage.queue.enqueue { stage.log.add("refused") }
    #expect(throws: QueueError.closed) { try stage.queue.tryEnqueue { stage.log.add("refused") } }
    refused.cancel()
    stage.queue.resume()
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == ["accepted"])
  }

  @Test func `a full queue refuses operations until some have started`() async throws {
    let stage = QueueStage(capacity: 1)
    let first = stage.hold("first")
    #expect(await first.hasStarted())
    stage.note("second")
    let third = stage.note("third")
    #expect(await third.endInTime() == "refused(full)")
    #expect(throws: QueueError.full) { try stage.queue.tryEnqueue {} }
    // Not every queue has calls that wait for room.
    #expect(!"\(QueueError.full)".contains("`"))
    first.token.finish()
    #expect(try await stage.isDrained())
    try stage.queue.tryEnqueue { stage.log.add("fourth") }
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == ["first", "second", "fourth"])
  }

  @Test func `cancelling all ends what is pending and asks what runs`() async throws {
    let stage = QueueStage()
    let running = stage.hold("running")
    #expect(await running.hasStarted())
    let pending = (0..<100).map { _ in stage.note("pending") }
    stage.queue.enqueue { stage.log.add("plain") }
    stage.queue.cancelAll()
    for operation in pending { #expect(await operation.endInTime() == "cancelled(request)") }
    #expect(running.token.isCancelled)
    stage.note("later")
    running.token.cancel()
    #expect(await running.operation.endInTime() == "cancelled(request)")
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == ["running", "later"])
    #expect(stage.queue.statistics.cancelled == 102)
  }

  @Test func `a drain that is too late says what has not ended`() async throws {
    let stage = QueueStage()
    let running = stage.hold("running", .with { $0.label = "upload" })
    #expect(await running.hasStarted())
    let line = #line + 1
    stage.queue.enqueue { token in token.finish() }
    stage.queue.enqueue {}
    // The drain may begin before or after the clock is advanced.
    let late = Task { try await stage.queue.drain(timeout: .seconds(1)) }
    let clock = Task { while !Task.isCancelled { stage.advance(1_000) } }
    let rests = [try await stage.queue.drain(timeout: .zero), try await late.value]
    clock.cancel()
    for rest in rests {
      #expect(rest.map(\.state) == [.running, .pending, .pending])
      #expect(rest[0].label?.hasPrefix("upload, ") == true)
      #expect(rest[1].label?.hasSuffix("ConcurrentQueueTests.swift:\(line)") == true)
      #expect(rest[2].label == nil)
    }
    running.token.finish()
    #expect(try await stage.isDrained())
    try await stage.queue.drain(timeout: .zero)
  }

  @Test func `a drain ends when the task that waits is cancelled`() async throws {
    let stage = QueueStage()
    let running = stage.hold()
    #expect(await running.hasStarted())
    let task = Task { try await stage.queue.drain() }
    task.cancel()
    #expect(try await task.value.map(\.state) == [.running])
    running.token.finish()
    #expect(try await stage.isDrained())
  }

  @Test func `a drain from inside an operation of the queue is refused`() async throws {
    let (queue, other) = (ConcurrentQueue(), ConcurrentQueue())
    func isRefused(_ body: () async throws -> Void) async -> Bool {
      do {
        try await body()
      } catch QueueError.deadlock {
        return true
      } catch {}
      return false
    }
    #expect(
      await isRefused {
        try await queue.run {
          try await other.drain()
          async let rest = queue.drain()
          _ = try await rest
        }
      })
    #expect(
      await isRefused {
        try await queue.run { try await other.run { _ = try await queue.drain() } }
      })
    try await queue.drain()
  }

  @Test func `a drain in a task that an operation only creates waits for the operation`()
    async throws
  {
    let queue = ConcurrentQueue(label: "drained by whom it creates")
    let goes = Signal()
    let drain = try await queue.run {
      // Begins to wait while the operation runs.
      let drain = Task { try await queue.drain() }
      queue.enqueueTask { #expect(await goes.wait()) }
      return drain
    }
    goes.raise()
    #expect(try await drain.value == [])
  }

  @Test func `a drain ends although what comes after is another queue's`() async throws {
    for _ in 0..<scaled(200) {
      let (stage, other) = (QueueStage(), QueueStage())
      let first = stage.hold("first")
      #expect(await first.hasStarted())
      let later = other.note("later", .with { $0.after = [first.operation] })
      let isDrained = Task { try await stage.isDrained() }
      DispatchQueue.global().async { first.token.finish() }
      #expect(try await isDrained.value)
      #expect(await later.endInTime() == "finished")
    }
  }

  @Test func `a run in a task that is cancelled already enqueues nothing`() async {
    let queue = ConcurrentQueue()
    let ran = Counter()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await queue.run { ran.up() }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(queue.statistics == QueueStatistics())
    #expect(ran.value == 0)
  }

  @Test func `statistics count each kind of end`() async throws {
    let stage = QueueStage()
    stage.note("finished")
    stage.queue.enqueue { $0.fail(Failure(number: 1)) }
    stage.queue.enqueue { $0.cancel() }
    stage.queue.enqueue { _ in }
    #expect(try await stage.isDrained())
    let running = stage.hold("running", .with { $0.maxRun = .seconds(1) })
    #expect(await running.hasStarted())
    stage.note("pending")
    var numbers = stage.queue.statistics
    #expect(numbers.finished == 1 && numbers.failed == 1 && numbers.cancelled == 1)
    #expect(numbers.abandoned == 1 && numbers.running == 1 && numbers.pending == 1)
    stage.advance(1_000)
    #expect(await running.operation.endInTime() == "timedOut(maxRun)")
    running.token.finish()
    #expect(try await stage.isDrained())
    numbers = stage.queue.statistics
    #expect(numbers.timedOut == 1 && numbers.running == 0 && numbers.finished == 2)
  }

  @Test func `a queue that is let go of does what it has`() async throws {
    var stage: QueueStage? = QueueStage()
    let log = stage!.log
    let first = stage!.hold("first")
    let last = stage!.note("last")
    #expect(await first.hasStarted())
    stage = nil
    first.takeToken()!.finish()
    #expect(await last.endInTime() == "finished")
    #expect(log.entries == ["first", "last"])
  }

  @Test func `a suspended queue that is let go of cancels what it has`() async throws {
    var stage: QueueStage? = QueueStage()
    let running = stage!.hold("running")
    #expect(await running.hasStarted())
    stage!.queue.suspend()
    let pending = stage!.note("never")
    stage = nil
    #expect(await pending.endInTime() == "cancelled(queueReleased)")
    #expect(running.token.isCancelled)
    running.token.cancel()
    #expect(await running.operation.endInTime() == "cancelled(queueReleased)")
  }

  @Test func `a queue may be let go of by its own operation`() async throws {
    for _ in 0..<scaled(100) {
      let signal = Signal(count: 2)
      let keeper = Protected<ConcurrentQueue?>(ConcurrentQueue(maxConcurrent: 1))
      let letGo: @Sendable () -> Void = {
        let queue = keeper.withLock { queue in
          defer { queue = nil }
          return queue
        }
        withExtendedLifetime(queue) {}
        signal.raise()
      }
      let queue = keeper.withLock { $0! }
      queue.enqueue(letGo)
      queue.enqueue { signal.raise() }
      #expect(await signal.wait())
    }
  }

  @Test func `closures go when the operation has ended, whoever holds it`() async throws {
    final class Witness: Sendable {}
    weak var witness: Witness?
    let stage = QueueStage()
    let operation: QueuedOperation
    do {
      let kept = Witness()
      witness = kept
      operation = stage.queue.enqueue(
        .with {
          $0.condition = { withExtendedLifetime(kept) { nil } }
          $0.retry = Retry { _, _ in withExtendedLifetime(kept) { true } }
        }
      ) { token in
        token.onCancel { _ in withExtendedLifetime(kept) {} }
        withExtendedLifetime(kept) { _ = token.finish() }
      }
      stage.queue.enqueue { withExtendedLifetime(kept) {} }
    }
    #expect(await operation.endInTime() == "finished")
    #expect(try await stage.isDrained())
    #expect(witness == nil)
  }

  @Test func `closures of what is cancelled or refused go, too`() async throws {
    final class Witness: Sendable {}
    weak var witness: Witness?
    let stage = QueueStage()
    stage.queue.suspend()
    do {
      let kept = Witness()
      witness = kept
      stage.queue.enqueue { token in withExtendedLifetime(kept) { _ = token.finish() } }
      stage.queue.enqueue { withExtendedLifetime(kept) {} }
      stage.queue.cancelAll()
      stage.queue.close()
      stage.queue.enqueue { token in withExtendedLifetime(kept) { _ = token.finish() } }
      stage.queue.enqueue { withExtendedLifetime(kept) {} }
    }
    #expect(try await stage.isDrained())
    #expect(witness == nil)
  }

  @Test func `bad input is refused with a message`() async {
    await #expect(processExitsWith: .failure) { _ = ConcurrentQueue(maxConcurrent: 0) }
    await #expect(processExitsWith: .failure) { _ = ConcurrentQueue(capacity: 0) }
    await #expect(processExitsWith: .failure) { ConcurrentQueue().resume() }
    await #expect(processExitsWith: .failure) { ConcurrentQueue().resume(for: "nothing") }
    await #expect(processExitsWith: .failure) {
      ConcurrentQueue().enqueue(.with { $0.joins = true }) { $0.finish() }
    }
    await #expect(processExitsWith: .failure) {
      ConcurrentQueue().enqueue(.with { $0.maxRun = .zero }) { $0.finish() }
    }
    await #expect(processExitsWith: .failure) {
      ConcurrentQueue().enqueue(.with { $0.retry = Retry(jitter: 2) }) { $0.finish() }
    }
    await #expect(processExitsWith: .failure) {
      let queue = ConcurrentQueue()
      queue.enqueue(.with { $0.condition = { .abandoned } }) { $0.finish() }
      try await queue.drain()
    }
    await #expect(processExitsWith: .failure) {
      try await ConcurrentQueue().drain(timeout: .seconds(-1))
    }
  }
}
