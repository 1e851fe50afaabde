// Uses each feature with each kind of queue, as Tests/Features/features.c does: a line of the
// feature, the kind, and "yes" (its effect was seen) or "no" (it was refused).
import AsyncOperation
import AsyncQueue
import Foundation
import InteractionQueue

typealias Body = @Sendable () async throws -> Void

struct Failure: Error {}

func check(_ condition: Bool, _ line: UInt = #line) {
  guard condition else { fatalError("line \(line): it is not so") }
}

/// A queue of one kind, on a clock of its own.
final class Trial: Sendable {
  let queue: any WorkQueue
  let clock = ManualClock()
  let trace = Trace()
  let gate = Gate()
  private let add: @Sendable (OperationOptions, @escaping Body) -> QueuedOperation

  init(_ kind: String, capacity: Int? = nil) {
    switch kind {
    case "fifo":
      let queue = FIFOQueue(capacity: capacity, clock: clock)
      self.queue = queue
      add = { queue.enqueueTask($0, $1) }
    case "actor":
      let queue = ActorQueue(of: State.shared, capacity: capacity, clock: clock)
      self.queue = queue
      add = { options, body in queue.enqueueTask(options) { _ in try await body() } }
    case "interaction":
      let queue = InteractionQueue(
        settleDelay: .zero, gap: .zero, capacity: capacity, clock: clock)
      self.queue = queue
      queue.onViewDidAppear()
      add = { options, body in
        queue.enqueue(options) { token in
          token.onPreempt { $0.yield() }
          Task {
            do {
              try await body()
              token.finish()
            } catch {
              token.fail(error)
            }
          }
        }
      }
    default:
      let queue = ConcurrentQueue(maxConcurrent: 2, capacity: capacity, clock: clock)
      self.queue = queue
      add = { queue.enqueueTask($0, $1) }
    }
  }

  /// Enqueues work that says its name.
  func say(_ name: String, _ change: (inout OperationOptions) -> Void = { _ in }) -> QueuedOperation
  {
    add(.with(change)) { [trace] in trace.say(name) }
  }

  /// Enqueues work that says its name, and lasts until the gate is opened; waits for its start.
  func hold(_ name: String, _ change: (inout OperationOptions) -> Void = { _ in }) async
    -> QueuedOperation
  {
    let begun = Gate()
    let operation = add(.with(change)) { [trace, gate] in
      trace.say(name)
      begun.open()
      await gate.wait()
    }
    await begun.wait()
    return operation
  }

  func fail(_ change: (inout OperationOptions) -> Void) -> QueuedOperation {
    add(.with(change)) { [trace] in
      trace.say("!")
      throw Failure()
    }
  }
}

actor State { static let shared = State() }

extension Trial {
  /// Work that reports its progress: through its token, if it has one.
  func reporting(_ completed: Int, of total: Int) -> QueuedOperation {
    if let queue = queue as? InteractionQueue {
      return queue.enqueue { token in
        token.setProgress(completed: completed, total: total)
        token.finish()
      }
    }
    return add(.init()) { check(OperationProgress.report(completed: completed, total: total)) }
  }

  /// Runs work that waits for its own queue, which is refused.
  func drainInside() async throws {
    let body: Body = { [queue, trace] in
      do throws(QueueError) {
        try await queue.drain()
      } catch {
        if case .deadlock = error { trace.say("refused") }
      }
    }
    if let queue = queue as? InteractionQueue {
      try await queue.present { try await body() }
    } else {
      _ = await add(.init(), body).waitForEnd()
    }
  }
}

extension QueuedOperation {
  var isRefused: Bool { end?.outcome == .refused }

  func ends(_ cause: OperationEnd.Cause) async -> Bool { await waitForEnd().cause == cause }
}

/// An operation without options, and one with options that let it overtake the first.
func comesFirst(_ it: Trial, _ change: (inout OperationOptions) -> Void) async -> Bool {
  (it.queue as? ConcurrentQueue)?.maxConcurrent = 1
  it.queue.suspend()
  let (a, b) = (it.say("a"), it.say("b", change))
  it.queue.resume()
  _ = await (a.waitForEnd(), b.waitForEnd())
  if b.isRefused { return false }
  check(it.trace.text == "ba")
  return true
}

/// It begins when `other` has ended.
func waits(_ it: Trial, for other: Trial, _ change: (inout OperationOptions) -> Void) async -> Bool
{
  let operation = it.say("b", change)
  if operation.isRefused { return false }
  check(operation.state == .pending && it.trace.text == "")
  other.gate.open()
  return await operation.waitForEnd() == .finished && it.trace.text == "b"
}

typealias Use = @Sendable (Trial) async throws -> Bool

let features: [(name: String, use: Use)] = [
  ("result", { it in await it.say("a").waitForEnd() == .finished && it.trace.text == "a" }),
  ("priority", { it in await comesFirst(it) { $0.priority = 1 } }),
  ("urgent", { it in await comesFirst(it) { $0.isUrgent = true } }),
  (
    "preempt",
    { it in
      let first = await it.hold("a")
      let second = it.say("b") { $0.isUrgent = true }
      if second.isRefused { return false }
      _ = await second.waitForEnd()
      it.gate.open()
      return await first.waitForEnd() == .finished && it.trace.text == "aba"
    }
  ),
  (
    "barrier",
    { it in
      _ = await it.hold("a")
      let barrier = it.say("b") { $0.isBarrier = true }
      if barrier.isRefused { return false }
      check(barrier.state == .pending)
      it.gate.open()
      return await barrier.waitForEnd() == .finished && it.trace.text == "ab"
    }
  ),
  (
    "after",
    { it in
      let other = Trial("fifo")
      let first = await other.hold("a")
      return await waits(it, for: other) { $0.after = [first] }
    }
  ),
  (
    "exclusive",
    { it in
      let other = Trial("fifo")
      _ = await other.hold("a") { $0.exclusive = ["the printer"] }
      return await waits(it, for: other) { $0.exclusive = ["the printer"] }
    }
  ),
  ("condition", { it in await it.say("a") { $0.condition = { .skipped } }.ends(.skipped) }),
  (
    "retry",
    { it in
      let operation = it.fail { $0.retry = Retry(maxAttempts: 3) }
      return await operation.waitForEnd().outcome == .failed && it.trace.text == "!!!"
    }
  ),
  (
    "key",
    { it in
      it.queue.suspend()
      let operation = it.say("a") { $0.key = "key" }
      check(it.queue.resolve(key: "key") == 1)
      it.queue.resume()
      return await operation.ends(.resolved)
    }
  ),
  (
    "join",
    { it in
      _ = await it.hold("a") { $0.key = "key" }
      let second = it.say("b") {
        $0.key = "key"
        $0.joins = true
      }
      if second.isRefused { return false }
      it.gate.open()
      let end = await second.waitForEnd()
      return end.isFinished && end.cause == .joined && it.trace.text == "a"
    }
  ),
  (
    "owner",
    { it in
      let window = Owner()
      it.queue.suspend()
      let operation = it.say("a") { $0.owner = window }
      window.goAway()
      it.queue.resume()
      return await operation.ends(.owner)
    }
  ),
  (
    "max_wait",
    { it in
      it.queue.suspend()
      let operation = it.say("a") { $0.maxWait = .seconds(5) }
      it.clock.advance(by: .seconds(5))
      it.queue.resume()
      return await operation.ends(.maxWait)
    }
  ),
  (
    "max_run",
    { it in
      let operation = await it.hold("a") { $0.maxRun = .seconds(5) }
      it.clock.advance(by: .seconds(4))
      check(operation.end == nil)
      it.clock.advance(by: .seconds(1))
      defer { it.gate.open() }
      return await operation.ends(.maxRun)
    }
  ),
  (
    "stall",
    { it in
      let told = Gate()
      Report.setHandler { if $0.kind == .stall { told.open() } }
      _ = await it.hold("a") { $0.stall = .seconds(5) }
      it.clock.advance(by: .seconds(5))
      await told.wait()
      Report.setHandler(nil)
      it.gate.open()
      return true
    }
  ),
  (
    "cancel_grace",
    { it in
      let operation = await it.hold("a") { $0.cancelGrace = .seconds(5) }
      operation.cancel()
      check(operation.end == nil)
      it.clock.advance(by: .seconds(5))
      defer { it.gate.open() }
      return await operation.ends(.grace)
    }
  ),
  (
    "cancel",
    { it in
      it.queue.suspend()
      let operation = it.say("a")
      operation.cancel()
      it.queue.resume()
      return await operation.waitForEnd() == .cancelled && it.trace.text == ""
    }
  ),
  (
    "progress",
    { it in
      let operation = it.reporting(3, of: 7)
      _ = await operation.waitForEnd()
      return operation.progress == OperationProgress(completed: 3, total: 7)
    }
  ),
  (
    "segment",
    { it in
      // What follows a suspension runs on the queue's actor: the next one has begun meanwhile.
      guard it.queue is ActorQueue<State> else { return false }
      let first = await it.hold("a")
      _ = await it.say("b").waitForEnd()
      check(it.trace.text == "ab" && first.end == nil)
      it.gate.open()
      return await first.waitForEnd() == .finished
    }
  ),
  (
    "suspend",
    { it in
      it.queue.suspend()
      let operation = it.say("a")
      check(operation.state == .pending)
      it.queue.resume()
      return await operation.waitForEnd() == .finished
    }
  ),
  (
    "reason",
    { it in
      it.queue.suspend(for: "no network")
      let operation = it.say("a")
      check(operation.state == .pending)
      it.queue.resume(for: "no network")
      return await operation.waitForEnd() == .finished
    }
  ),
  (
    "capacity",
    { it in
      it.queue.suspend()
      let (first, second) = (it.say("a"), it.say("b"))
      check(await second.ends(.full))
      it.queue.resume()
      return await first.waitForEnd() == .finished
    }
  ),
  (
    "rate",
    { it in
      it.queue.setRate(maxStarts: 1, interval: .seconds(10))
      let (first, second) = (it.say("a"), it.say("b"))
      _ = await first.waitForEnd()
      check(second.state == .pending && it.queue.statistics.nextStart == .seconds(10))
      it.clock.advance(by: .seconds(10))
      return await second.waitForEnd() == .finished
    }
  ),
  (
    "max_concurrent",
    { it in
      guard let queue = it.queue as? ConcurrentQueue else { return false }
      queue.maxConcurrent = 1
      _ = await it.hold("a")
      let second = it.say("b")
      check(second.state == .pending)
      it.gate.open()
      return await second.waitForEnd() == .finished
    }
  ),
  (
    "view",
    { it in
      guard let queue = it.queue as? InteractionQueue else { return false }
      queue.onViewWillDisappear()
      let operation = it.say("a")
      check(operation.state == .pending)
      queue.onViewDidAppear()
      return await operation.waitForEnd() == .finished
    }
  ),
  (
    "events",
    { it in
      let events = it.queue.events()
      _ = it.say("a")
      for await event in events {
        if case .ended(_, .finished) = event { return true }
      }
      return false
    }
  ),
  (
    "states",
    { it in
      let pending = it.queue.states.pendingCount
      it.queue.suspend()
      let operation = it.say("a")
      check(pending.value == 1)
      it.queue.resume()
      _ = await operation.waitForEnd()
      return pending.value == 0
    }
  ),
  (
    "list",
    { it in
      it.queue.suspend()
      let operation = it.say("a") { $0.label = "a label" }
      check(it.queue.list().first?.label?.contains("a label") == true)
      it.queue.resume()
      return await operation.waitForEnd() == .finished
    }
  ),
  (
    "drain",
    { it in
      it.queue.suspend()
      _ = it.say("a")
      check(try await it.queue.drain(timeout: .zero).count == 1)
      it.queue.resume()
      return try await it.queue.drain().isEmpty && it.trace.text == "a"
    }
  ),
  (
    "close",
    { it in
      Report.setHandler { _ in }
      it.queue.close()
      defer { Report.setHandler(nil) }
      return await it.say("a").ends(.closed)
    }
  ),
  (
    "deadlock",
    { it in
      Report.setHandler { _ in }
      defer { Report.setHandler(nil) }
      try await it.drainInside()
      return it.trace.text == "refused"
    }
  ),
  (
    "batch",
    { it in
      it.queue.suspend()
      let operations = [it.say("a"), it.say("b")]
      let batch = Batch.firstError(operations)
      operations[1].cancel()
      // The batch has heard of it before.
      check(await operations[1].waitForEnd() == .cancelled)
      it.queue.resume()
      check(try await batch.waitForEnd() == .cancelled && batch.decidedBy === operations[1])
      return it.trace.text == "" && operations[0].end == .cancelled
    }
  ),
  (
    "edges",
    { it in
      let first = it.fail { $0.label = "a" }
      let second = it.say("b") {
        $0.after = [first]
        $0.needsFinished = true
      }
      let batch = Batch.all([second, first])
      check(try await batch.waitForEnd() == .cancelled(.dependency))
      return it.trace.text == "!" && batch.decidedBy === second
    }
  ),
]

for (name, use) in features + [("clock", features.first { $0.name == "max_run" }!.use)] {
  for kind in ["fifo", "actor", "interaction", "concurrent"] {
    let trial = Trial(kind, capacity: name == "capacity" ? 1 : nil)
    print(name, kind, try await use(trial) ? "yes" : "no", separator: "\t")
    fflush(nil)
  }
}
