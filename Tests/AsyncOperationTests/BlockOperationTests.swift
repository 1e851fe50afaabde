import AsyncOperation
import Foundation
import TestSupport
import Testing

/// Operations whose work is a closure: callbacks, tokens, tasks, results.
@Suite(.watched) struct BlockOperationTests {
  @Test
  func `a block operation ends when its callback is called, on any thread and any number of times`()
    async throws
  {
    let queue = OperationQueue()
    let operation = AsyncBlockOperation { markOperationAsFinished in
      Thread.detachNewThread {
        markOperationAsFinished()
        markOperationAsFinished()
      }
      markOperationAsFinished()
    }
    queue.addOperation(operation)
    #expect(try await operation.endInTime() == "finished")
    #expect(await queue.finishesInTime())
  }

  @Test func `the original's own form compiles: a named callback type, a block type, a subclass`() {
    final class Own: AsyncBlockOperation, @unchecked Sendable {
      // Safe to share: it adds nothing.

      override init(fileID: StaticString, line: UInt, block: sending @escaping Block) {
        super.init(block: block)
      }
    }
    let block: AsyncBlockOperation.Block = { (done: @escaping () -> Void) in done() }
    let operation: AsyncOperation = AsyncBlockOperation(block: block)
    operation.start()
    #expect(operation.isFinished)
  }

  @Test func `a lost callback ends the operation as abandoned, and the queue goes on`() async throws
  {
    Reports.begin()
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let line = #line as UInt + 1
    let lost = AsyncBlockOperation { _ in }
    lost.name = "lost at once"
    let next = Subclass { $0.finish() }
    queue.add([lost, next])
    #expect(try await lost.endInTime() == "abandoned")
    #expect(try await next.endInTime() == "finished")
    #expect(await queue.finishesInTime())
    let reports = await Reports.told("lost at once")
    #expect(reports.count == 1 && reports.first?.kind == .lostToken)
    #expect(
      reports.first?.message == """
        operation "lost at once" (AsyncBlockOperation, made at \
        AsyncOperationTests/BlockOperationTests.swift:\(line)) was abandoned: \
        its finish callback was lost uncalled
        """)
    #expect(reports.first?.fileID == "AsyncOperationTests/BlockOperationTests.swift")
    #expect(reports.first?.line == Int(line))
  }

  @Test func `a callback that is kept and then lost on another thread is noticed there`()
    async throws
  {
    Reports.begin()
    final class Holder: @unchecked Sendable {
      // Safe to share: the threads use it one after another.

      var callback: (() -> Void)?
    }
    let holder = Holder()
    let operation = AsyncBlockOperation { holder.callback = $0 }
    operation.name = "lost later"
    operation.start()
    #expect(operation.isExecuting)
    let dropped = Signal()
    Thread.detachNewThread {
      holder.callback = nil
      dropped.raise()
    }
    #expect(await dropped.wait())
    #expect(operation.end?.text == "abandoned")
    #expect(await Reports.told("lost later").count == 1)
  }

  @Test func `a handler that gives in does not keep a lost token from being noticed`() {
    let lost = AsyncBlockOperation { token in token.onCancel { $0.cancel() } }
    lost.start()
    #expect(lost.end?.text == "abandoned")
  }

  @Test func `nothing is reported when a callback is lost after the end, whoever ended it`() {
    Reports.begin()
    let finished = AsyncBlockOperation { $0() }
    let cancelled = AsyncBlockOperation { done in withExtendedLifetime(done) {} }
    let subclass = Subclass { operation in
      let token = operation.makeFinishToken()
      operation.finish()
      #expect(!token.finish())
    }
    for (index, operation) in [finished, cancelled, subclass].enumerated() {
      operation.name = "ended otherwise \(index)"
    }
    finished.start()
    cancelled.cancel()
    cancelled.start()
    subclass.start()
    #expect(finished.end?.text == "finished" && cancelled.end?.text == "cancelled(request)")
    #expect(Reports.about("ended otherwise").isEmpty)
  }

  @Test func `of losing the callback and another end at the same time one counts, in 200 runs`()
    async throws
  {
    Reports.begin()
    for run in 0..<scaled(200) {
      let gate = Gate()
      let operation = AsyncBlockOperation { callback in
        Thread.detachNewThread {
          _ = gate.pass()
          withExtendedLifetime(callback) {}
        }
      }
      operation.name = "race \(run) of a lost callback"
      operation.start()
      gate.open()
      operation.end(as: .failed(Failure(number: run)))
      let end = try await operation.endInTime()
      #expect(["abandoned", "failed(\(run))"].contains(end))
      if end != "abandoned" {
        #expect(Reports.about("race \(run) of a lost callback").isEmpty)
      }
    }
  }

  @Test(arguments: ["finished", "cancelled before", "finished before", "abandoned"])
  func `the block and what it captured go away with the end, not with the operation`(how: String) {
    final class Captured: Sendable {}
    Reports.begin()
    weak var captured: Captured?
    let operation: AsyncBlockOperation
    do {
      let object = Captured()
      captured = object
      operation = AsyncBlockOperation { [object] done in
        withExtendedLifetime(object) { if how == "finished" { done() } }
      }
    }
    #expect(captured != nil)
    if how == "cancelled before" { operation.cancel() }
    if how == "finished before" { operation.finish() }
    operation.start()
    #expect(operation.isFinished && captured == nil)
  }

  @Test func `a token fails, gives in, sees the cancelling and says which end counted`() {
    let failing = AsyncBlockOperation { token in
      #expect(token.fail(Failure(number: 7)))
      #expect(!token.finish() && !token.cancel())
    }
    failing.start()
    #expect(failing.end?.text == "failed(7)")

    let held = Protected<FinishToken?>(nil)
    let givingIn = AsyncBlockOperation { token in
      #expect(!token.isCancelled)
      held.withLock { $0 = token }
      token.onCancel { reply in
        #expect(held.withLock { $0?.isCancelled } == true)
        reply.cancel()
      }
    }
    givingIn.start()
    #expect(givingIn.isExecuting)
    givingIn.cancel()
    #expect(givingIn.end?.text == "cancelled(request)")
  }

  @Test func `a used token holds its operation no longer`() {
    weak var operation: Subclass?
    let token: FinishToken
    do {
      let made = Subclass()
      operation = made
      made.start()
      token = made.makeFinishToken()
    }
    #expect(operation != nil)
    #expect(token.finish())
    #expect(operation == nil && !token.finish() && !token.isCancelled)
    token.onCancel { _ in Issue.record("there is nothing to cancel") }
  }

  // MARK: Tasks

  @Test func `an asynchronous body keeps the operation until it returns`() async throws {
    let queue = OperationQueue()
    let inside = Signal()
    let goOn = Signal()
    let operation = AsyncBlockOperation(body: {
      inside.raise()
      #expect(await goOn.wait())
    })
    queue.addOperation(operation)
    #expect(await inside.wait())
    #expect(operation.isExecuting)
    goOn.raise()
    #expect(try await operation.endInTime() == "finished")
    #expect(await queue.finishesInTime())
  }

  @Test func `cancelling the operation cancels the task of its body`() async throws {
    let inside = Signal()
    let operation = AsyncBlockOperation {
      inside.raise()
      try await Task.sleep(for: .seconds(1_000))
    }
    operation.start()
    #expect(await inside.wait())
    operation.cancel()
    #expect(try await operation.endInTime() == "cancelled(request)")
  }

  @Test func `cancelling at any time around the start of a task is not lost`() async throws {
    for _ in 0..<scaled(200) {
      let operation = AsyncBlockOperation { try await Task.sleep(for: .seconds(1_000)) }
      DispatchQueue.global().async { operation.start() }
      operation.cancel()
      #expect(try await operation.endInTime() == "cancelled(request)")
    }
  }

  @Test
  func `a body that throws fails the operation; CancellationError only cancels a cancelled one`()
    async throws
  {
    let failing = AsyncBlockOperation { throw Failure(number: 4) }
    failing.start()
    #expect(try await failing.endInTime() == "failed(4)")
    let confused = AsyncBlockOperation { throw CancellationError() }
    confused.start()
    #expect(try await confused.endInTime() == "failed(?)")
    let stubborn = AsyncBlockOperation {
      while !Task.isCancelled { await Task.yield() }
    }
    stubborn.start()
    stubborn.cancel()
    #expect(try await stubborn.endInTime() == "finished")
  }

  // MARK: Results

  @Test func `results travel along dependencies`() async throws {
    let queue = OperationQueue()
    let number = AsyncResultOperation<Int, Failure> { finish in
      Thread.detachNewThread {
        finish(.success(20))
        finish(.failure(Failure(number: 1)))
      }
    }
    let twice = AsyncResultOperation<Int, any Error> { try 2 * number.get() + 2 }
    twice.addDependency(number)
    queue.add([number, twice])
    #expect(try await twice.value == 42)
    #expect(try twice.get() == 42)
    #expect(number.result == .success(20))
  }

  @Test func `a result that is not there says why`() async throws {
    Reports.begin()
    typealias Numbered = AsyncResultOperation<Int, Failure>
    let pending = Numbered()
    #expect(throws: QueueError.noValue) { try pending.get() }
    #expect(pending.result == nil)

    let failed = Numbered { () async throws(Failure) -> Int in throw Failure(number: 2) }
    failed.start()
    await #expect(throws: Failure(number: 2)) { try await failed.value }
    #expect(failed.result == .failure(Failure(number: 2)))

    let cancelled = Numbered { finish in finish(.success(1)) }
    cancelled.cancel()
    cancelled.start()
    await #expect(throws: QueueError.ended(.cancelled)) { try await cancelled.value }

    let abandoned = Numbered { _ in }
    abandoned.start()
    await #expect(throws: QueueError.ended(.abandoned)) { try await abandoned.value }

    let silent = Numbered()
    silent.start()
    silent.finish()
    await #expect(throws: QueueError.noValue) { try await silent.value }
    #expect(!silent.finish(with: .success(1)))
    #expect(silent.result == nil)

    let subclassed = Numbered()
    subclassed.start()
    #expect(subclassed.finish(with: .success(5)))
    #expect(try subclassed.get() == 5)
  }

  @Test func `waiting for a value goes on when the waiting task is cancelled`() async throws {
    let operation = AsyncResultOperation<Int, Failure>()
    operation.start()
    let waiting = Task { try await operation.value }
    waiting.cancel()
    operation.finish(with: .success(1))
    #expect(try await waiting.value == 1)
  }

  @Test func `an optional value that is nil is a value`() {
    let operation = AsyncResultOperation<Int?, Failure> { $0(.success(nil)) }
    operation.start()
    #expect(operation.result == .success(nil))
  }
}
