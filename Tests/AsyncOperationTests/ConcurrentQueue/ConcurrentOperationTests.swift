import Dispatch
import TestSupport
import Testing

@testable import AsyncOperation

/// How one operation is cancelled and ends, and what it says about itself.
@Suite(.watched) struct ConcurrentOperationTests {
  @Test func `an operation is pending, then running, then ended`() async throws {
    let stage = QueueStage()
    let first = stage.hold()
    #expect(await first.hasStarted())
    let second = stage.hold()
    #expect(first.operation.state == .running && second.operation.state == .pending)
    #expect(first.operation.end == nil)
    #expect(first.token.finish())
    #expect(await first.operation.endInTime() == "finished")
    #expect(first.operation.state == .ended && first.operation.end != nil)
    #expect(await second.hasStarted())
    second.token.fail(Failure(number: 7))
    #expect(await second.operation.endInTime() == "failed(7)")
  }

  @Test func `cancelling a pending one ends it and its work is never called`() async throws {
    let stage = QueueStage()
    let first = stage.hold("first")
    let second = stage.note("second")
    second.cancel()
    second.cancel()
    #expect(await second.endInTime() == "cancelled(request)")
    #expect(await first.hasStarted())
    first.token.finish()
    #expect(try await stage.isDrained())
    #expect(stage.log.entries == ["first"])
  }

  @Test func `cancelling a running one tells its work, which keeps its place`() async throws {
    let stage = QueueStage()
    let held = stage.hold()
    #expect(await held.hasStarted())
    let told = Signal()
    held.token.onCancel { _ in told.raise() }
    #expect(!held.token.isCancelled)
    held.operation.cancel()
    #expect(held.token.isCancelled)
    #expect(await told.wait())
    #expect(held.operation.state == .running)
    held.operation.cancel()
    #expect(held.token.cancel())
    #expect(!held.token.finish())
    #expect(await held.operation.endInTime() == "cancelled(request)")
    #expect(told.missing == 0)
  }

  @Test func `a handler that is set after the cancelling is called, too`() async throws {
    let stage = QueueStage()
    let held = stage.hold()
    #expect(await held.hasStarted())
    held.operation.cancel()
    let told = Signal()
    held.token.onCancel { _ in told.raise() }
    #expect(await told.wait())
    held.token.cancel()
  }

  @Test func `the grace time ends a cancelled operation that does not give in`() async throws {
    let stage = QueueStage()
    let held = stage.hold("held", .with { $0.cancelGrace = .seconds(2) })
    #expect(await held.hasStarted())
    held.operation.cancel()
    stage.advance(1_999)
    #expect(held.operation.state == .running)
    stage.advance(1)
    #expect(await held.operation.endInTime() == "cancelled(grace)")
    #expect(!held.token.finish())
  }

  @Test func `deadlines end an operation that waits or runs too long`() async throws {
    let stage = QueueStage()
    let running = stage.hold("running", .with { $0.maxRun = .seconds(5) })
    #expect(await running.hasStarted())
    let waiting = stage.note("waiting", .with { $0.maxWait = .seconds(3) })
    stage.advance(3_000)
    #expect(await waiting.endInTime() == "timedOut(maxWait)")
    let next = stage.hold("next")
    stage.advance(2_000)
    #expect(await running.operation.endInTime() == "timedOut(maxRun)")
    #expect(running.token.isCancelled)
    // Its place is held until its token is used.
    #expect(next.operation.state == .pending)
    #expect(!running.token.finish())
    #expect(await next.hasStarted())
    next.token.finish()
    #expect(stage.log.entries == ["running", "next"])
  }

  @Test func `a place that is freed at the maximum run lets others start`() async throws {
    let stage = QueueStage()
    let running = stage.hold(
      "running",
      .with {
        $0.maxRun = .seconds(5)
        $0.freesPlaceAtMaxRun = true
      })
    let next = stage.hold("next")
    #expect(await running.hasStarted())
    stage.advance(5_000)
    #expect(await next.hasStarted())
    #expect(!running.token.finish())
    next.token.finish()
  }

  @Test(arguments: [false, true])
  func `an attempt that has run too long finds that out from its token`(isFreed: Bool) async throws
  {
    let stage = QueueStage()
    let running = stage.hold(
      "running",
      .with {
        $0.retry = Retry(maxAttempts: 2)
        $0.maxRun = .seconds(5)
        $0.freesPlaceAtMaxRun = isFreed
      })
    #expect(await running.hasStarted())
    let first = running.token!
    #expect(!first.isCancelled)
    // An attempt whose place is freed in the middle of its call is the last one.
    #expect(await comesTrue { running.operation.why()?.cause == "token" })
    stage.advance(5_000)
    if isFreed { #expect(await running.hasStarted()) }
    #expect(await comesTrue { first.isCancelled })
    #expect(!first.finish() && !first.isCancelled)
    if !isFreed { #expect(await running.hasStarted()) }
    #expect(!running.token.isCancelled && running.token.finish())
    #expect(await running.operation.endInTime() == "finished")
  }

  @Test func `a deadline cancels the task of an operation`() async throws {
    let stage = QueueStage()
    let (begun, ended) = (Signal(), Signal())
    let operation = stage.queue.enqueueTask(.with { $0.maxRun = .seconds(1) }) {
      begun.raise()
      while !Task.isCancelled { await Task.yield() }
      ended.raise()
    }
    #expect(await begun.wait())
    stage.advance(1_000)
    #expect(await operation.endInTime() == "timedOut(maxRun)")
    #expect(await ended.wait())
    #expect(try await stage.isDrained())
  }

  @Test func `an attempt that runs too long is as one that has failed`() async throws {
    let stage = QueueStage()
    let errors = Log<String>()
    let retry = Retry(maxAttempts: 2) { error, attempts in
      errors.add("\(attempts): \(error)")
      return true
    }
    let held = stage.hold(
      "attempt",
      .with {
        $0.maxRun = .seconds(5)
        $0.retry = retry
      })
    #expect(await held.hasStarted())
    stage.advance(5_000)
    // Its place is held until the token is used.
    held.takeToken()!.finish()
    #expect(await held.hasStarted())
    held.takeToken()!.finish()
    #expect(await held.operation.endInTime() == "finished")
    #expect(errors.entries == ["1: \(QueueError.ended(.timedOut(.maxRun)))"])
    let once = stage.hold(
      "once",
      .with {
        $0.maxRun = .seconds(5)
        $0.retry = retry
        $0.retry?.onlyFailures = true
      })
    #expect(await once.hasStarted())
    stage.advance(5_000)
    #expect(await once.operation.endInTime() == "timedOut(maxRun)")
    once.takeToken()!.finish()
  }

  @Test func `a handler that is set after the cut-off is called at once`() async throws {
    let stage = QueueStage()
    let running = stage.hold("running", .with { $0.maxRun = .seconds(2) })
    #expect(await running.hasStarted())
    stage.advance(2_000)
    #expect(await running.operation.endInTime() == "timedOut(maxRun)")
    let calls = Counter()
    running.token.onCancel { _ in calls.up() }
    #expect(calls.value == 1)
    // Once the token is used, handlers are not called any more.
    running.token.finish()
    running.token.onCancel { _ in calls.up() }
    #expect(calls.value == 1)
  }

  @Test func `a lost token ends its operation, names the line, and the queue goes on`() async throws
  {
    Reports.begin()
    let stage = QueueStage()
    let line = #line + 1
    let lost = stage.queue.enqueue { _ in }
    let after = stage.note("after")
    #expect(await lost.endInTime() == "abandoned")
    #expect(await after.endInTime() == "finished")
    let messages = await Reports.told("ConcurrentOperationTests.swift:\(line)")
    #expect(messages.map(\.kind) == [.lostToken])
    #expect(messages.first?.line == line)
  }

  @Test func `a handler that gives in does not keep a lost token from being noticed`() async {
    let stage = QueueStage()
    let lost = stage.queue.enqueue { token in token.onCancel { $0.cancel() } }
    #expect(await lost.endInTime() == "abandoned")
  }

  @Test func `a token that is lost later, elsewhere, ends its operation, too`() async throws {
    Reports.begin()
    let stage = QueueStage()
    let held = stage.hold("held", .with { $0.label = "a token lost elsewhere" })
    #expect(await held.hasStarted())
    DispatchQueue.global().async { _ = held.takeToken() }
    #expect(await held.operation.endInTime() == "abandoned")
    #expect(await Reports.told("a token lost elsewhere").count == 1)
  }

  @Test func `an operation that stalls is reported, waiting and running`() async throws {
    Reports.begin()
    let stage = QueueStage()
    let first = stage.hold("first")
    #expect(await first.hasStarted())
    let stalled = stage.hold(
      "stalled",
      .with {
        $0.stall = .seconds(10)
        $0.label = "one that stalls"
      })
    stage.advance(10_000)
    #expect(await Reports.told("one that stalls").map(\.kind) == [.stall])
    first.token.finish()
    #expect(await stalled.hasStarted())
    stage.advance(10_000)
    #expect(await Reports.told("one that stalls", count: 2).map(\.kind) == [.stall, .stall])
    #expect(stalled.operation.state == .running)
    stalled.token.finish()
    #expect(await stalled.operation.endInTime() == "finished")
  }

  // MARK: Values

  @Test func `functions and tasks give their values, and throw their errors`() async throws {
    let queue = ConcurrentQueue()
    #expect(try await queue.enqueueFunction { 6 * 7 }.value == 42)
    #expect(try await queue.enqueueTask { await Task { "text" }.value }.value == "text")
    #expect(try await queue.run { [1, 2, 3] } == [1, 2, 3])
    await #expect(throws: Failure(number: 3)) {
      try await queue.enqueueFunction { throw Failure(number: 3) }.value
    }
    await #expect(throws: Failure(number: 4)) { try await queue.run { throw Failure(number: 4) } }
  }

  @Test func `a thousand tasks one at a time do not overlap, suspensions included`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 1)
    let running = Counter()
    let log = Log<Int>()
    for number in 0..<1_000 {
      queue.enqueueTask {
        running.up()
        await Task.yield()
        log.add(number)
        running.down()
      }
    }
    try await queue.drain(timeout: .seconds(Limit.seconds))
    #expect(running.highest == 1)
    #expect(log.entries == Array(0..<1_000))
  }

  @Test func `cancelling who runs a function cancels its task`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 1)
    let begun = Signal()
    let task = Task {
      try await queue.run {
        begun.raise()
        while true {
          try Task.checkCancellation()
          await Task.yield()
        }
      }
    }
    #expect(await begun.wait())
    let pending = Task { try await queue.run { Issue.record("it was cancelled before its start") } }
    #expect(await comesTrue { queue.statistics.pending == 1 })
    pending.cancel()
    await #expect(throws: CancellationError.self) { try await pending.value }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(queue.statistics.cancelled == 2)
  }

  @Test func `a value that was ready counts although the operation was cancelled`() async throws {
    let queue = ConcurrentQueue()
    let (begun, gate) = (Signal(), Gate())
    let operation = queue.enqueueFunction {
      begun.raise()
      return gate.pass()
    }
    #expect(await begun.wait())
    operation.cancel()
    gate.open()
    #expect(try await operation.value)
  }

  @Test func `an operation without a value says how it ended`() async throws {
    let queue = ConcurrentQueue(maxConcurrent: 1)
    queue.suspend()
    let operation = queue.enqueueFunction { 1 }
    operation.cancel()
    queue.resume()
    do {
      _ = try await operation.value
      Issue.record("it gave a value")
    } catch let error as QueueError {
      #expect(error == .ended(.cancelled))
    }
  }

  @Test func `a value goes with the last who holds its operation`() async throws {
    final class Witness: Sendable {}
    weak var witness: Witness?
    let queue = ConcurrentQueue()
    var operation: QueuedResult<Witness>? = queue.enqueueFunction { Witness() }
    witness = try await operation!.value
    #expect(witness != nil)
    try await queue.drain(timeout: .seconds(Limit.seconds))
    #expect(witness != nil)
    operation = nil
    #expect(witness == nil)
  }

  // MARK: Progress

  @Test func `progress can be read and followed`() async throws {
    let stage = QueueStage()
    let held = stage.hold()
    #expect(await held.hasStarted())
    #expect(held.operation.progress == OperationProgress())
    #expect(held.operation.progress.fraction == nil)
    var updates = held.operation.observedProgress.values(
      buffering: .bufferingNewest(1)
    ).makeAsyncIterator()
    #expect(await updates.next()?.completed == 0)
    for completed in 1...3 {
      #expect(held.token.setProgress(completed: completed, total: 4))
      #expect(await updates.next()?.completed == completed)
    }
    #expect(held.operation.progress.fraction == 0.75)
    held.token.setProgress(completed: 4, total: 4)
    held.token.finish()
    #expect(await held.operation.endInTime() == "finished")
    #expect(!held.token.setProgress(completed: 1, total: 4))
    #expect(await updates.next()?.completed == 4)
    #expect(await updates.next() == nil)
    var late = held.operation.observedProgress.values(
      buffering: .bufferingNewest(1)
    ).makeAsyncIterator()
    #expect(await late.next()?.fraction == 1)
    #expect(await late.next() == nil)
  }
}
