import AsyncOperation
import Foundation
import TestSupport
import Testing

/// The life of one operation: each call at each stage.
@Suite(.watched) struct AsyncOperationTests {
  @Test func `an operation goes on after main has returned, until it is finished`() async throws {
    let queue = OperationQueue()
    let started = Signal()
    let operation = Subclass { _ in started.raise() }
    let dependent = Subclass { $0.finish() }
    dependent.addDependency(operation)
    queue.add([operation, dependent])

    #expect(await started.wait())
    #expect(operation.isExecuting && !operation.isFinished && operation.isAsynchronous)
    #expect(!dependent.isReady && dependent.text == "pending")
    #expect(queue.operationCount == 2)

    operation.finish()
    #expect(!operation.isExecuting && operation.isFinished)
    #expect(try await dependent.endInTime() == "finished")
    #expect(await queue.finishesInTime())
  }

  @Test func `finish may be called from any thread`() async throws {
    let queue = OperationQueue()
    let operation = Subclass { operation in Thread.detachNewThread { operation.finish() } }
    queue.addOperation(operation)
    #expect(try await operation.endInTime() == "finished")
    #expect(await queue.finishesInTime())
  }

  @Test func `a second end changes nothing and calls nothing again`() async throws {
    let completions = Signal(count: 1)
    let states = Log<String>()
    let operation = Subclass()
    operation.completionBlock = { completions.raise() }
    let observation = operation.observe { states.add($0) }
    operation.start()
    #expect(operation.end(as: .failed(Failure(number: 1))))
    operation.finish()
    operation.finish()
    #expect(!operation.end(as: .cancelled))
    #expect(operation.end?.text == "failed(1)")
    #expect(states.entries == ["pending", "running", "failed(1)"])
    #expect(await completions.wait())
    // A second completion would be queued by now, before this one.
    let last = Subclass { $0.finish() }
    let ended = Signal()
    last.completionBlock = { ended.raise() }
    last.start()
    #expect(await ended.wait())
    #expect(completions.missing == 0)
    withExtendedLifetime(observation) {}
  }

  @Test func `finish before start: the work is never called, and the queue goes on`() async throws {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.isSuspended = true
    let early = Subclass { $0.finish() }
    let next = Subclass { $0.finish() }
    queue.add([early, next])
    early.finish()
    #expect(early.text == "pending", "a queue lets nothing finish that it has not started")
    queue.isSuspended = false
    #expect(try await early.endInTime() == "finished")
    #expect(try await next.endInTime() == "finished")
    #expect(early.mains.value == 0 && next.mains.value == 1)
    #expect(await queue.finishesInTime())
  }

  @Test func `finish before start, without a queue: start ends it`() {
    let operation = Subclass()
    operation.finish()
    operation.start()
    #expect(operation.end?.text == "finished" && operation.mains.value == 0)
  }

  @Test func `start of a running or an ended operation has no effect`() {
    let operation = Subclass { $0.start() }
    operation.start()
    operation.start()
    #expect(operation.isExecuting && operation.mains.value == 1)
    operation.finish()
    operation.start()
    #expect(operation.isFinished && !operation.isExecuting && operation.mains.value == 1)
  }

  @Test func `of two threads that start an operation one calls its work`() async {
    for _ in 0..<scaled(200) {
      let operation = Subclass()
      let started = Signal(count: 2)
      for _ in 0..<2 {
        Thread.detachNewThread {
          operation.start()
          started.raise()
        }
      }
      #expect(await started.wait())
      #expect(operation.mains.value == 1 && operation.isExecuting)
      operation.finish()
    }
  }

  @Test func `of many ends from many threads one counts, and says so`() async throws {
    for run in 0..<scaled(500) {
      let operation = Subclass()
      let winners = Log<String>()
      let done = Signal(count: 4)
      let states = Log<String>()
      let observation = operation.observe { states.add($0) }
      let ends: [OperationEnd] = [
        .finished, .failed(Failure(number: run)), .cancelled, .abandoned,
      ]
      if run.isMultiple(of: 2) { operation.start() }
      for end in ends {
        DispatchQueue.global().async {
          if operation.end(as: end) { winners.add(end.text) }
          done.raise()
        }
      }
      // In every other run, the start takes part in the race.
      operation.start()
      #expect(await done.wait())
      _ = try await operation.endInTime()
      #expect(winners.entries == [operation.end!.text])
      #expect(states.entries.last == operation.end!.text)
      #expect(states.entries.count == Set(states.entries).count)
      withExtendedLifetime(observation) {}
    }
  }

  @Test func `setting isFinished ends and setting isExecuting begins, for starts of one's own`() {
    let operation = Subclass()
    operation.isFinished = false
    operation.isExecuting = false
    #expect(operation.text == "pending")
    operation.isExecuting = true
    #expect(operation.isExecuting && operation.mains.value == 0)
    operation.isExecuting = false
    #expect(operation.isExecuting)
    operation.isFinished = true
    #expect(operation.isFinished && !operation.isExecuting)
    operation.isFinished = false
    #expect(operation.isFinished)
  }

  @Test func `an operation that nothing refers to any more goes away, ended or not`() {
    weak var pending: Subclass?
    weak var ended: Subclass?
    do {
      let first = Subclass()
      let second = Subclass { $0.finish() }
      second.start()
      (pending, ended) = (first, second)
      #expect(pending != nil && ended != nil)
    }
    #expect(pending == nil && ended == nil)
  }
}
