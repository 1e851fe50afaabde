import AsyncOperation
import Foundation
import TestSupport
import Testing

/// Operations in Foundation's queues.
@Suite(.watched) struct QueueTests {
  @Test func `one at a time, 1,000 operations begin and end in the order in which they were added`()
    async throws
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let log = Log<Int>()
    for number in 0..<1_000 {
      queue.addOperation(
        AsyncBlockOperation { done in
          log.add(number)
          DispatchQueue.global().async {
            log.add(number)
            done()
          }
        })
    }
    #expect(await queue.finishesInTime())
    let isInOrder = log.entries == (0..<1_000).flatMap { [$0, $0] }
    #expect(isInOrder)
  }

  @Test(arguments: [1, 2, 3])
  func `no more run than maxConcurrentOperationCount`(limit: Int) async {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = limit
    let running = Counter()
    let ended = Counter()
    for _ in 0..<200 {
      queue.addOperation(
        AsyncBlockOperation { done in
          running.up()
          DispatchQueue.global().async {
            running.down()
            ended.up()
            done()
          }
        })
    }
    #expect(await queue.finishesInTime())
    #expect(running.highest <= limit && running.value == 0 && ended.value == 200)
  }

  @Test func `the same script on BlockOperation and on AsyncBlockOperation leaves the same trace`()
    async
  {
    /// The order in which operations with priorities and dependencies run, one at a time.
    func trace(_ make: (@escaping @Sendable () -> Void) -> Operation) async -> [Int] {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      queue.isSuspended = true
      let log = Log<Int>()
      let priorities: [Operation.QueuePriority] = [.low, .normal, .high]
      var made: [Operation] = []
      for number in 0..<60 {
        let operation = make { log.add(number) }
        operation.queuePriority = priorities[number % 3]
        if number % 7 == 3 { operation.addDependency(made[number - 3]) }
        if number % 11 == 5 { operation.cancel() }
        made.append(operation)
        queue.addOperation(operation)
      }
      queue.isSuspended = false
      #expect(await queue.finishesInTime())
      return log.entries
    }
    let foundations = await trace { BlockOperation(block: $0) }
    let ours = await trace { work in
      AsyncBlockOperation { done in
        work()
        DispatchQueue.global().async { done() }
      }
    }
    #expect(foundations.count > 50)
    #expect(ours == foundations)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `of thousands of operations with random dependencies in three queues each starts and ends`(
    seed: UInt64
  ) async throws {
    var random = SeededGenerator(seed: seed)
    let queues = (1...3).map { limit in
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = limit
      return queue
    }
    let count = scaled(4_000)
    let calls = Counter()
    var all: [AsyncOperation] = []
    for number in 0..<count {
      let operation = AsyncBlockOperation { done in
        calls.up()
        if number.isMultiple(of: 2) { done() } else { DispatchQueue.global().async { done() } }
      }
      for _ in 0..<Int.random(in: 0...2, using: &random) where number > 0 {
        let earlier = Int.random(in: max(0, number - 20)..<number, using: &random)
        operation.addDependency(all[earlier])
      }
      all.append(operation)
      queues[number % 3].addOperation(operation)
    }
    for queue in queues { #expect(await queue.finishesInTime()) }
    #expect(calls.value == count)
    #expect(all.count { $0.end?.text == "finished" } == count)
  }

  @Test func `cancelling all at any time leaves no operation in the queue`() async throws {
    for _ in 0..<scaled(50) {
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 2
      let all = (0..<40).map { _ in
        AsyncBlockOperation { token in
          token.onCancel { $0.cancel() }
          DispatchQueue.global().async { token.finish() }
        }
      }
      for index in 1..<all.count where index % 5 != 0 { all[index].addDependency(all[index - 1]) }
      let cancelled = Signal()
      DispatchQueue.global().async {
        queue.cancelAllOperations()
        cancelled.raise()
      }
      queue.add(all)
      #expect(await cancelled.wait())
      queue.cancelAllOperations()
      #expect(await queue.finishesInTime())
      #expect(queue.operationCount == 0)
      #expect(all.allSatisfy { ["finished", "cancelled(request)"].contains($0.end?.text) })
    }
  }

  @Test func `an operation may be added from another one's work, and waited for by its end`() async
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let log = Log<String>()
    let outer = AsyncBlockOperation { done in
      let inner = AsyncBlockOperation { innerDone in
        log.add("inner")
        innerDone()
      }
      queue.addOperation(inner)
      log.add("outer")
      done()
    }
    queue.addOperation(outer)
    #expect(await queue.finishesInTime())
    #expect(log.entries == ["outer", "inner"])
  }
}
