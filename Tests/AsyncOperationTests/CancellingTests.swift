import Foundation
import InturnCore
import TestSupport
import Testing

@testable import AsyncOperation

/// Cancelling before, during and after the work.
@Suite(.watched) struct CancellingTests {
  @Test func `cancelled before its start, an operation never calls its work and ends cancelled`()
    async throws
  {
    let queue = OperationQueue()
    queue.isSuspended = true
    let operation = Subclass { $0.finish() }
    queue.addOperation(operation)
    operation.cancel()
    #expect(operation.isCancelled && !operation.isFinished)
    queue.isSuspended = false
    #expect(try await operation.endInTime() == "cancelled(request)")
    #expect(operation.mains.value == 0)
    #expect(await queue.finishesInTime())
  }

  @Test func `cancelled before its start without a queue, it ends when it is started`() {
    let operation = Subclass()
    operation.cancel()
    operation.start()
    #expect(operation.end?.text == "cancelled(request)" && operation.mains.value == 0)
  }

  @Test func `cancelled while its dependencies are pending, an operation does not wait for them`()
    async throws
  {
    let queue = OperationQueue()
    let never = Subclass()
    let operation = Subclass { $0.finish() }
    operation.addDependency(never)
    queue.addOperation(operation)
    operation.cancel()
    #expect(try await operation.endInTime() == "cancelled(request)")
    #expect(await queue.finishesInTime())
  }

  @Test
  func `cancelled while it runs, an operation is told at once and keeps its place until it ends`()
    async throws
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let started = Signal()
    let handlers = Log<Int>()
    let operation = Subclass { operation in
      operation.onCancel { handlers.add(1) }
      operation.onCancel { handlers.add(2) }
      started.raise()
    }
    let next = Subclass { $0.finish() }
    queue.add([operation, next])
    #expect(await started.wait())
    operation.cancel()
    operation.cancel()
    #expect(operation.isCancelled && operation.isExecuting)
    #expect(handlers.entries == [1, 2])
    #expect(next.text == "pending")
    operation.finish()
    #expect(operation.end?.text == "finished", "the work was done all the same, and says so")
    #expect(try await next.endInTime() == "finished")
    #expect(await queue.finishesInTime())
  }

  @Test func `cancelling after the end has no effect`() {
    let operation = Subclass { $0.finish() }
    let handlers = Counter()
    operation.onCancel { handlers.up() }
    operation.start()
    operation.cancel()
    operation.onCancel { handlers.up() }
    #expect(operation.end?.text == "finished" && handlers.value == 0)
  }

  @Test func `a handler that is set after the cancelling is called at once`() {
    let operation = Subclass()
    operation.start()
    operation.cancel()
    let handlers = Counter()
    operation.onCancel { handlers.up() }
    #expect(handlers.value == 1)
    operation.end(as: .cancelled)
    #expect(operation.end?.text == "cancelled(request)")
  }

  @Test func `a handler that ends the operation is the last one that is called`() {
    let operation = Subclass()
    let later = Counter()
    operation.onCancel { operation.finish() }
    operation.onCancel { later.up() }
    operation.start()
    operation.cancel()
    #expect(operation.end?.text == "finished" && later.value == 0)
  }

  @Test func `a token's later handler replaces its earlier one, and no other's`() {
    let log = Log<String>()
    let operation = Subclass()
    let (token, other) = (operation.makeFinishToken(), operation.makeFinishToken())
    let alive = Protected<Counter?>(Counter())
    weak var first: Counter?
    first = alive.withLock { $0 }
    operation.onCancel { log.add("operation's") }
    token.onCancel { [kept = alive.withLock { $0 }] _ in
      withExtendedLifetime(kept) { log.add("first") }
    }
    other.onCancel { _ in log.add("other token's") }
    token.onCancel { _ in log.add("second") }
    alive.withLock { $0 = nil }
    #expect(first == nil, "the first handler is released")
    operation.start()
    operation.cancel()
    #expect(log.entries == ["operation's", "other token's", "second"])
    token.finish()
    withExtendedLifetime(other) {}
  }

  @Test
  func `cancel may be called from the handler, the work, an observer and the completion block`()
    async throws
  {
    let completed = Signal()
    let operation = Subclass { operation in
      operation.onCancel {
        operation.cancel()
        operation.end(as: .cancelled)
        operation.cancel()
      }
      operation.cancel()
    }
    operation.completionBlock = {
      operation.cancel()
      completed.raise()
    }
    let observation = operation.observedState.observe { _ in
      if operation.isExecuting { operation.cancel() }
    }
    operation.start()
    #expect(operation.end?.text == "cancelled(request)")
    #expect(await completed.wait())
    operation.completionBlock = nil
    withExtendedLifetime(observation) {}
  }

  @Test func `cancelAllOperations drains a queue whose operations give in`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 2
    let started = Signal(count: 2)
    let operations = (0..<50).map { _ in
      Subclass { operation in
        operation.onCancel { operation.end(as: .cancelled) }
        started.raise()
      }
    }
    queue.add(operations)
    #expect(await started.wait())
    queue.cancelAllOperations()
    #expect(await queue.finishesInTime())
    #expect(operations.allSatisfy { $0.end?.text == "cancelled(request)" })
    // When one gives in, another may start before Foundation cancels it.
    #expect(operations.allSatisfy { $0.mains.value <= 1 })
    #expect(operations.map(\.mains.value).reduce(0, +) >= 2)
  }

  @Test func `cancel and start at the same time: it runs or it does not, and ends once`()
    async throws
  {
    for _ in 0..<scaled(500) {
      let operation = Subclass { operation in
        operation.onCancel { operation.end(as: .cancelled) }
      }
      let done = Signal(count: 2)
      DispatchQueue.global().async {
        operation.cancel()
        done.raise()
      }
      DispatchQueue.global().async {
        operation.start()
        done.raise()
      }
      #expect(await done.wait())
      #expect(try await operation.endInTime() == "cancelled(request)")
      #expect(operation.isCancelled)
    }
  }

  // MARK: Grace

  /// A manual clock, and a queue that measures grace times with it.
  private struct Times {
    let clock = Engine.createManualClock()!.handle
    let queue: Handle

    init() { queue = GraceTimer.makeQueue(clock: clock) }

    func advance(_ duration: Duration) {
      let seconds = duration.components.seconds
      #expect(Engine.clock(clock).1!.advance(by: seconds * 1_000_000_000))
    }

    func end() {
      #expect(Engine.destroy(queue: queue) == .ok)
      #expect(Engine.destroy(clock: clock) == .ok)
    }
  }

  @Test func `when the grace time is over the operation ends cancelled although its work goes on`()
    async throws
  {
    let times = Times()
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let started = Signal()
    let operation = Subclass { _ in started.raise() }
    operation.storage.cancelGrace = Grace(duration: .seconds(10), queue: times.queue)
    #expect(operation.cancelGrace == .seconds(10))
    let next = Subclass { $0.finish() }
    queue.add([operation, next])
    #expect(await started.wait())
    times.advance(.seconds(100))
    operation.cancel()
    times.advance(.seconds(9))
    #expect(operation.isExecuting)
    times.advance(.seconds(1))
    #expect(try await operation.endInTime() == "cancelled(grace)")
    #expect(operation.isCancelled && operation.isFinished)
    #expect(try await next.endInTime() == "finished")
    #expect(!operation.end(as: .finished), "the work's own end comes too late")
    times.end()
  }

  @Test func `the grace time begins before the cancel handlers are called`() async throws {
    let times = Times()
    let operation = Subclass()
    operation.storage.cancelGrace = Grace(duration: .seconds(10), queue: times.queue)
    let isInHandler = Signal()
    let goes = Gate()
    operation.onCancel {
      isInHandler.raise()
      #expect(goes.pass())
    }
    let later = Counter()
    operation.onCancel { later.up() }
    operation.start()
    let cancelled = Signal()
    Thread.detachNewThread {
      operation.cancel()
      cancelled.raise()
    }
    #expect(await isInHandler.wait())
    times.advance(.seconds(10))
    #expect(await comesTrue(within: 20) { operation.end?.text == "cancelled(grace)" })
    goes.open()
    #expect(await cancelled.wait())
    #expect(later.value == 1, "its work may still go on, and is told")
    times.end()
  }

  @Test func `an operation that gives in within its grace time is not ended again`() async throws {
    let times = Times()
    let operation = Subclass()
    operation.storage.cancelGrace = Grace(duration: .seconds(10), queue: times.queue)
    operation.start()
    operation.cancel()
    operation.finish()
    times.advance(.seconds(100))
    #expect(operation.end?.text == "finished")
    #expect(Engine.drain(times.queue, timeoutNanoseconds: 60_000_000_000) == .ok)
    times.end()
  }

  @Test func `a grace time that cannot be measured leaves nothing behind`() {
    let grace = Grace(duration: .seconds(10), queue: Handle(bits: 0))
    weak var captured: Counter?
    do {
      let counter = Counter()
      captured = counter
      #expect(GraceTimer(grace) { counter.up() } == nil)
    }
    #expect(captured == nil)
  }

  @Test func `a grace time by the system's clock passes`() async throws {
    let operation = Subclass()
    operation.cancelGrace = .milliseconds(1)
    operation.start()
    operation.cancel()
    #expect(try await operation.endInTime() == "cancelled(grace)")
  }
}
