import AsyncOperation
import Foundation
import TestSupport
import Testing

@testable import InteractionQueue

@Suite(.timeLimit(.minutes(1))) struct AsyncUIOperationTests {
  @Test func `its block is called on the main queue and the operation lasts until it says so`()
    async
  {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let log = Log<String>()
    let first = AsyncUIOperation(delay: .milliseconds(1)) { finish in
      log.add("first on main: \(OperationQueue.current === OperationQueue.main)")
      DispatchQueue.global().async {
        log.add("first ends")
        finish()
      }
    }
    let second = AsyncUIOperation(delay: .zero) { finish in
      log.add("second")
      finish()
    }
    for operation in [first, second] { queue.addOperation(operation) }
    #expect(await queue.finishesInTime())
    #expect(log.entries == ["first on main: true", "first ends", "second"])
  }

  @Test func `one that is cancelled in its delay is not presented`() async {
    let queue = OperationQueue()
    let log = Log<String>()
    let operation = AsyncUIOperation(delay: .milliseconds(1)) { finish in
      log.add("presented")
      finish()
    }
    let observation = operation.observedState.observe { change in
      if change.new == .running { operation.cancel() }
    }
    queue.addOperation(operation)
    #expect(await queue.finishesInTime())
    observation.cancel()
    #expect(log.entries.isEmpty)
    #expect(operation.end == .cancelled)
  }

  @Test func `a lost callback ends it as abandoned`() async throws {
    Reports.begin()
    let line = #line + 1
    let operation = AsyncUIOperation(delay: .zero) { _ in }
    OperationQueue().addOperation(operation)
    #expect(await operation.waitForEnd() == .abandoned)
    #expect(await !Reports.told("AsyncUIOperationTests.swift:\(line)").isEmpty)
  }
}
