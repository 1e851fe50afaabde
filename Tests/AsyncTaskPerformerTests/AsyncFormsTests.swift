import AsyncTaskPerformer
import Foundation
import TestSupport
import Testing

/// Lists of operations from asynchronous code.
@Suite struct AsyncFormsTests {
  private let queue = SynchronousOperationQueue(defaultValue: -1)

  @Test func `execute returns the value, the default value, or throws the first error`()
    async throws
  {
    #expect(try await queue.execute((0..<5).map { n in Member { $0.report(n) } }) == 4)
    #expect(try await queue.execute([]) == -1)
    await #expect(throws: Failure(number: 3)) {
      try await queue.execute(
        (0..<5).map { n in
          Member { $0.report(n, n == 3 ? Failure(number: 3) : nil) }
        })
    }
    await #expect(throws: SynchronousOperationQueueError.neverExecuted) {
      try await queue.execute([Member { $0.finish() }])
    }
  }

  @Test func `the value reported last counts, whichever operation ends last`() async throws {
    let queue = SynchronousOperationQueue(
      defaultValue: -1, type: .concurrent(maxConcurrentOperations: 2))
    let reported = Signal()
    let second = Member { member in
      Task {
        #expect(await reported.wait())
        member.report(2)
      }
    }
    let first = Member { member in
      member.completion?(1, nil)
      reported.raise()
      Task {
        #expect(await second.waitForEnd() == .finished)
        member.finish()
      }
    }
    #expect(try await queue.execute([first, second]) == 2)
  }

  @Test @MainActor func `lists of one actor's tasks begin in the order of their calls`()
    async throws
  {
    let log = Log<Int>()
    let callers = (0..<100).map { number in
      Task { [queue] in
        try await queue.execute([
          Member {
            log.add(number)
            $0.report(number)
          }
        ])
      }
    }
    for (number, caller) in callers.enumerated() { #expect(try await caller.value == number) }
    #expect(log.entries == Array(0..<100))
  }

  @Test func `cancelling the task that waits for execute cancels the list`() async throws {
    for _ in 0..<scaled(100) {
      let members = (0..<3).map { _ in
        Member { member in member.onCancel { member.end(as: .cancelled) } }
      }
      let task = Task { [queue] in try await queue.execute(members) }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(await queue.finishesInTime())
      #expect(members.allSatisfy { $0.end == .cancelled })
    }
  }

  @Test func `results come in the list's order, however the operations end`() async throws {
    let queue = SynchronousOperationQueue(
      defaultValue: 0, type: .concurrent(maxConcurrentOperations: 8))
    for _ in 0..<scaled(50) {
      var values: [Int] = []
      let members = (0..<40).map { n in
        Member { member in
          if n % 4 == 1 { return member.finish() }
          DispatchQueue.global().async { member.report(n) }
        }
      }
      for try await value in queue.results(of: members) { values.append(value) }
      #expect(values == (0..<40).filter { $0 % 4 != 1 })
    }
  }

  @Test func `a result comes before the list is done`() async throws {
    let second = Signal()
    let members = [
      Member { $0.report(1) },
      Member { member in
        Task {
          #expect(await second.wait())
          member.report(2)
        }
      },
    ]
    var values: [Int] = []
    for try await value in queue.results(of: members) {
      values.append(value)
      if value == 1 { second.raise() }
    }
    #expect(values == [1, 2])
  }

  @Test func `an error ends the results after those whose turn had come`() async throws {
    var values: [Int] = []
    let members = (0..<5).map { n in Member { $0.report(n, n == 2 ? Failure(number: 2) : nil) } }
    await #expect(throws: Failure(number: 2)) {
      for try await value in queue.results(of: members) { values.append(value) }
    }
    #expect(values == [0, 1])
    for try await _ in queue.results(of: []) { Issue.record("an empty list has no results") }
  }

  @Test func `leaving the loop cancels what is left`() async throws {
    let members = (0..<10).map { n in
      Member { member in
        member.onCancel { member.end(as: .cancelled) }
        if n == 0 { member.report(n) }
      }
    }
    for try await value in queue.results(of: members) {
      #expect(value == 0)
      break
    }
    #expect(await queue.finishesInTime())
    #expect(members.allSatisfy { $0.isFinished } && members[9].mains.value == 0)
  }

  @Test(arguments: [1, 2])
  func `a list of 20,000 completes with its last value`(limit: Int) async throws {
    let count = scaled(20_000)
    let queue =
      limit == 1
      ? SynchronousOperationQueue(defaultValue: 0)
      : SynchronousOperationQueue(
        defaultValue: 0, type: .concurrent(maxConcurrentOperations: limit))
    let ended = Counter()
    let members = (0..<count).map { n in
      Member { member in
        ended.up()
        member.report(n)
      }
    }
    let last = try await queue.execute(members)
    #expect(ended.value == count && (limit > 1 || last == count - 1))
  }
}
