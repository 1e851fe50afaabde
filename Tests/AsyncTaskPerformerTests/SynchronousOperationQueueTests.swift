import AsyncTaskPerformer
import Dispatch
import Foundation
import TestSupport
import Testing

/// Lists of operations with one completion.
@Suite struct SynchronousOperationQueueTests {
  typealias Queue = SynchronousOperationQueue<Int>

  func make(_ type: Queue.QueueType = .nonConcurrent) -> Queue {
    Queue(defaultValue: -1, type: type, completionQueue: DispatchQueue(label: "completions"))
  }

  /// What the completions of lists were called with.
  struct Completions {
    let log = Log<String>()
    let signal: Signal

    init(count: Int = 1) { signal = Signal(count: count) }

    func add(_ value: Int?, _ error: (any Error)?) {
      log.add(text(value, error))
      signal.raise()
    }

    /// All of them. The queue's operations have all ended by then, so that no later completion goes
    /// unnoticed.
    func all(_ queue: Queue) async -> [String] {
      #expect(await queue.finishesInTime())
      #expect(await signal.wait())
      return log.entries
    }
  }

  @Test func `the operations of a list run in order, and the last value is the list's`() async {
    let log = Log<Int>()
    let completions = Completions()
    let queue = make()
    let members = (1...1_000).map { number in
      Member { member in
        log.add(number)
        DispatchQueue.global().async {
          log.add(number)
          member.report(number)
        }
      }
    }
    queue.executeOperations(members) { completions.add($0, $1) }
    #expect(await completions.all(queue) == ["1000"])
    let isInOrder = log.entries == (1...1_000).flatMap { [$0, $0] }
    #expect(isInOrder)
  }

  @Test func `priorities and cancelled operations do not change the order`() async {
    let queue = make()
    queue.isSuspended = true
    let log = Log<Int>()
    let completions = Completions()
    let members = (0..<30).map { number in
      Member { member in
        log.add(number)
        DispatchQueue.global().async { member.report(number) }
      }
    }
    for (number, member) in members.enumerated() {
      member.queuePriority = number.isMultiple(of: 3) ? .veryLow : .veryHigh
    }
    queue.executeOperations(members) { completions.add($0, $1) }
    #expect(members.allSatisfy { $0.queuePriority == .normal })
    members[20].queuePriority = .veryHigh
    queue.maxConcurrentOperationCount = 4
    #expect(queue.maxConcurrentOperationCount == 1)
    for number in stride(from: 2, to: 30, by: 5) { members[number].cancel() }
    queue.isSuspended = false
    #expect(await completions.all(queue) == ["29"])
    #expect(log.entries == (0..<30).filter { $0 % 5 != 2 })
  }

  @Test
  func `dependencies on others hold a list and those after it up, and do not change the order`()
    async
  {
    let queue = make()
    let log = Log<Int>()
    let completions = Completions(count: 2)
    let others = (0..<3).map { _ in AsyncOperation() }
    let lists = (0..<2).map { list in
      (0..<10).map { index in
        Member { member in
          log.add(10 * list + index)
          DispatchQueue.global().async { member.report(10 * list + index) }
        }
      }
    }
    for (number, other) in others.enumerated() { lists[0][3 * number].addDependency(other) }
    for list in lists { queue.executeOperations(list) { completions.add($0, $1) } }
    lists[0][5].cancel()
    for other in others.reversed() {
      #expect(!lists[0][9].isFinished && !lists[1][0].isFinished)
      other.start()
      other.finish()
    }
    #expect(await completions.all(queue) == ["9", "19"])
    #expect(log.entries == (0..<20).filter { $0 != 5 })
  }

  @Test func `an operation that is added after a list runs after it`() async {
    let queue = make()
    let log = Log<Int>()
    let completions = Completions()
    queue.isSuspended = true
    let members = (0..<10).map { number in
      Member { member in
        log.add(number)
        DispatchQueue.global().async { member.report(number) }
      }
    }
    queue.executeOperations(members) { completions.add($0, $1) }
    queue.addOperation { log.add(10) }
    queue.isSuspended = false
    #expect(await completions.all(queue) == ["9"])
    #expect(log.entries == Array(0...10))
  }

  @Test func `lists of a queue that is not concurrent run one after the other`() async {
    let queue = make()
    let log = Log<Int>()
    let completions = Completions(count: 3)
    queue.isSuspended = true
    for list in 0..<3 {
      let members = (0..<10).map { index in
        let member = Member { member in
          log.add(10 * list + index)
          DispatchQueue.global().async { member.report(10 * list + index) }
        }
        member.queuePriority = [.veryLow, .normal, .veryHigh][list]
        return member
      }
      queue.executeOperations(members) { completions.add($0, $1) }
    }
    queue.isSuspended = false
    #expect(await completions.all(queue) == ["9", "19", "29"])
    #expect(log.entries == Array(0..<30))
  }

  @Test(arguments: [1, 3])
  func `a concurrent queue runs so many at a time, and the value that came last counts`(limit: Int)
    async
  {
    let queue = make(.concurrent(maxConcurrentOperations: limit))
    let running = Counter()
    let completions = Completions()
    let last = Log<Int>()
    let members = (0..<100).map { number in
      Member { member in
        running.up()
        DispatchQueue.global().async {
          running.down()
          member.report(number)
          last.add(number)
        }
      }
    }
    queue.executeOperations(members) { completions.add($0, $1) }
    let all = await completions.all(queue)
    #expect(all.count == 1 && all != ["-1"] && running.highest <= limit && running.value == 0)
    #expect(members.allSatisfy { $0.mains.value == 1 })
    if limit == 1 { #expect(all == ["99"]) }
  }

  @Test func `an empty list completes with the default value, never inside the call`() async {
    let queue = Queue(
      defaultValue: 5, type: .nonConcurrent, completionQueue: DispatchQueue(label: "held"))
    let completions = Completions()
    queue.executeOperations([]) { completions.add($0, $1) }
    #expect(await completions.all(queue) == ["5"])
    queue.defaultValue = 6
    #expect(queue.defaultValue == 6)
    MainQueue.begin()
    let onMain = Signal()
    Queue(defaultValue: 7).executeOperations([]) { value, _ in
      #expect(MainQueue.isCurrent && value == 7)
      onMain.raise()
    }
    #expect(await onMain.wait())
  }

  @Test func `an empty list takes its turn, and can be cancelled before it comes`() async throws {
    let queue = Queue(
      defaultValue: 5, type: .nonConcurrent, completionQueue: DispatchQueue(label: "turns"))
    let completions = Completions(count: 3)
    let (firstBegins, firstMayEnd) = (Signal(), Signal())
    let first = Member { member in
      firstBegins.raise()
      Task {
        _ = await firstMayEnd.wait()
        member.report(1)
      }
    }
    queue.executeOperations([first]) { completions.add($0, $1) }
    queue.executeOperations([]) { completions.add($0, $1) }
    let waiting = Task { try await queue.execute([]) }
    queue.executeOperations([Member { $0.report(3) }]) { completions.add($0, $1) }
    #expect(await firstBegins.wait())
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    firstMayEnd.raise()
    #expect(await completions.all(queue) == ["1", "5", "3"])
  }

  @Test func `completions are called on the main queue unless another one was given`() async {
    MainQueue.begin()
    let done = Signal(count: 2)
    for type in [Queue.QueueType.nonConcurrent, .concurrent(maxConcurrentOperations: 2)] {
      Queue(defaultValue: 0, type: type).executeOperations([Member { $0.report(1) }]) { value, _ in
        #expect(MainQueue.isCurrent && value == 1)
        done.raise()
      }
    }
    #expect(await done.wait())
  }

  // MARK: Errors

  @Test func `the first error cancels the rest and completes the list at once`() async {
    let queue = make()
    let completions = Completions()
    let gate = Gate()
    let failing = Member { member in
      // Not finished yet, as the completion must not wait for that.
      member.completion?(nil, Failure(number: 1))
      Thread.detachNewThread {
        _ = gate.pass()
        member.finish()
      }
    }
    let rest = (0..<10).map { number in Member { $0.report(number) } }
    queue.executeOperations([Member { $0.report(0) }, failing] + rest) { completions.add($0, $1) }
    #expect(await completions.signal.wait())
    #expect(failing.isExecuting)
    gate.open()
    #expect(await completions.all(queue) == ["failure 1"])
    #expect(rest.allSatisfy { $0.mains.value == 0 && $0.isFinished && $0.isCancelled })
  }

  @Test(arguments: [1, 4])
  func `200 lists with an error while they are added complete once, with the error`(limit: Int)
    async
  {
    for run in 0..<scaled(200) {
      let queue = make(.concurrent(maxConcurrentOperations: limit))
      let completions = Completions()
      let members = (0..<20).map { number in
        Member { $0.report(number, number == 0 ? Failure(number: run) : nil) }
      }
      queue.executeOperations(members) { completions.add($0, $1) }
      #expect(await completions.all(queue) == ["failure \(run)"])
      #expect(members.allSatisfy { $0.isFinished })
    }
  }

  @Test func `200 lists whose operations all report at the same time complete once`() async {
    for run in 0..<scaled(200) {
      let queue = make(.concurrent(maxConcurrentOperations: 8))
      let completions = Completions()
      let error = run.isMultiple(of: 2) ? 3 : -1
      let members = (0..<8).map { number in
        Member { $0.report(number, number == error ? Failure(number: run) : nil) }
      }
      queue.executeOperations(members) { completions.add($0, $1) }
      let all = await completions.all(queue)
      #expect(all.count == 1)
      let isValue = all.first.flatMap { Int($0) }.map((0..<8).contains) ?? false
      #expect(error < 0 ? isValue : all == ["failure \(run)"])
    }
  }

  @Test func `of several errors the first counts, and a value with an error is an error`() async {
    let queue = make()
    let completions = Completions()
    queue.executeOperations([
      Member { $0.report(1, Failure(number: 1)) }, Member { $0.report(2, Failure(number: 2)) },
    ]) { completions.add($0, $1) }
    #expect(await completions.all(queue) == ["failure 1"])
  }

  @Test func `an operation's first report counts, whatever comes after it`() async {
    let queue = make()
    let completions = Completions(count: 2)
    queue.executeOperations([
      Member { member in
        member.completion?(1, nil)
        member.completion?(2, nil)
        member.completion?(nil, Failure(number: 1))
        member.finish()
        member.finish()
      }
    ]) { completions.add($0, $1) }
    queue.executeOperations([
      Member { member in
        member.completion?(nil, Failure(number: 2))
        member.completion?(3, nil)
        member.finish()
        member.completion?(4, nil)
      }
    ]) { completions.add($0, $1) }
    #expect(await completions.all(queue).sorted() == ["1", "failure 2"])
  }

  @Test func `an operation that fails, or is cut off, without a report fails its list`() async {
    Reports.begin()
    let queue = make()
    let cuts: [OperationEnd] = [.timedOut(.maxRun), .refused(.owner)]
    let completions = Completions(count: 4)
    let failing = Member { $0.end(as: .failed(Failure(number: 8))) }
    let losing = Member { _ = $0.makeFinishToken() }
    losing.name = "loses its token"
    for member in [failing, losing] + cuts.map({ end in Member { $0.end(as: end) } }) {
      queue.executeOperations([member, Member { $0.report(1) }]) { completions.add($0, $1) }
    }
    let ends = ([.abandoned] + cuts).map { "\(QueueError.ended($0))" }
    // Each at once, in any order: the next list may begin before the completion is called.
    #expect(await completions.all(queue).sorted() == (["failure 8"] + ends).sorted())
    #expect(await Reports.told("loses its token").count == 1)
  }

  @Test func `a ring of dependencies in a list fails it with the ring's members`() async {
    Reports.begin()
    let queue = make()
    let completions = Log<String>()
    let done = Signal()
    let members = (0..<3).map { number in Member { $0.report(number) } }
    for (number, member) in members.enumerated() { member.name = "listed in a ring \(number)" }
    // In the list's order, the first one comes before the last one.
    members[0].addDependency(members[2])
    queue.executeOperations(members) { _, error in
      completions.add("\(error as? QueueError, default: "another end")")
      done.raise()
    }
    #expect(await done.wait())
    #expect(await queue.finishesInTime())
    #expect(completions.entries.count == 1)
    for number in 0..<3 {
      #expect(completions.entries.first?.contains("listed in a ring \(number)") == true)
    }
    #expect(await Reports.told("listed in a ring").count == 1)
  }

  @Test func `a ring through the list's order and Foundation's operation is broken, too`() async {
    Reports.begin()
    let queue = make()
    let completions = Log<String>()
    let done = Signal()
    let members = (0..<3).map { number in Member { $0.report(number) } }
    for (number, member) in members.enumerated() { member.name = "ring in a list \(number)" }
    let plain = BlockOperation {}
    plain.addDependency(members[2])
    members[0].addDependency(plain)
    queue.executeOperations(members) { _, error in
      completions.add("\(error as? QueueError, default: "another end")")
      done.raise()
    }
    queue.addOperation(plain)
    #expect(await done.wait())
    #expect(await queue.finishesInTime())
    #expect(completions.entries.count == 1)
    #expect(completions.entries.first?.contains("ring in a list") == true)
    #expect(await Reports.told("ring in a list").count >= 1)
  }

  // MARK: Cancelling

  @Test func `cancelAllOperations completes every list with a CancellationError`() async {
    for _ in 0..<scaled(50) {
      let queue = make()
      let started = Signal()
      let completions = Completions(count: 3)
      let first = Member { member in
        member.onCancel { member.finish() }
        started.raise()
      }
      let later = (0..<10).map { number in Member { $0.report(number) } }
      queue.executeOperations([first] + later) { completions.add($0, $1) }
      queue.executeOperations([Member { $0.report(1) }]) { completions.add($0, $1) }
      queue.executeOperations([Member { $0.report(1) }]) { completions.add($0, $1) }
      #expect(await started.wait())
      queue.cancelAllOperations()
      #expect(await completions.all(queue) == Array(repeating: "CancellationError()", count: 3))
      #expect(later.allSatisfy { $0.mains.value == 0 })
    }
  }

  @Test func `an error in one list leaves the other one alone`() async {
    for limit in [1, 2] {
      let queue = make(.concurrent(maxConcurrentOperations: limit))
      let completions = Completions(count: 2)
      queue.executeOperations(
        (0..<10).map { number in
          Member { $0.report(nil, Failure(number: number)) }
        }
      ) { _, _ in completions.add(nil, Failure(number: 0)) }
      let good = (0..<10).map { number in Member { $0.report(number) } }
      queue.executeOperations(good) { completions.add($0, $1) }
      let all = await completions.all(queue)
      #expect(all.count == 2 && all.contains("failure 0"))
      #expect(good.allSatisfy { $0.mains.value == 1 })
    }
  }

  @Test func `operations that are cancelled by themselves are left out`() async {
    let queue = make()
    queue.isSuspended = true
    let completions = Completions(count: 2)
    let some = (0..<3).map { number in Member { $0.report(number) } }
    queue.executeOperations(some) { completions.add($0, $1) }
    let all = (0..<3).map { number in Member { $0.report(number) } }
    queue.executeOperations(all) { completions.add($0, $1) }
    some[2].cancel()
    for member in all { member.cancel() }
    queue.isSuspended = false
    #expect(await completions.all(queue).sorted() == ["1", "neverExecuted"])
  }

  @Test func `a list whose operations finish without a report says neverExecuted`() async {
    let queue = make()
    let completions = Completions(count: 2)
    queue.executeOperations([Member { $0.finish() }]) { completions.add($0, $1) }
    queue.executeOperations([Member { $0.report(nil) }]) { completions.add($0, $1) }
    #expect(await completions.all(queue) == ["neverExecuted", "neverExecuted"])
  }

  // MARK: Completions of operations

  @Test func `an operation's own completion is called, too, before and in a list`() async {
    let queue = make()
    let completions = Completions()
    let own = Log<String>()
    let outside = Member { _ in }
    #expect(outside.completion == nil)
    outside.completion = { own.add(text($0, $1)) }
    outside.completion?(1, nil)
    let member = Member { $0.report(2) }
    member.completion = { own.add(text($0, $1)) }
    queue.executeOperations([member]) { completions.add($0, $1) }
    #expect(await completions.all(queue) == ["2"])
    #expect(own.entries == ["1", "2"])
  }

  @Test func `a queue, its operations and their lists go away when all is done`() async {
    weak var queue: Queue?
    weak var member: Member?
    let done = Signal()
    do {
      let made = make()
      let operation = Member { $0.report(1) }
      queue = made
      member = operation
      made.executeOperations([operation]) { _, _ in done.raise() }
      #expect(await done.wait())
      #expect(await made.finishesInTime())
    }
    // Foundation's threads release them a little after reporting that they are done.
    #expect(await comesTrue { queue == nil && member == nil })
  }

  // MARK: Misuse

  @Test func `no operation at a time is refused with a message`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = SynchronousOperationQueue(
        defaultValue: 0, type: .concurrent(maxConcurrentOperations: 0))
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("maxConcurrentOperations must be at least 1, not 0"))
  }

  @Test func `an operation that is in a list already is refused with a message`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let queue = SynchronousOperationQueue(defaultValue: 0)
      queue.isSuspended = true
      let member = Member { $0.report(1) }
      queue.executeOperations([Member { $0.report(1) }, member, member]) { _, _ in }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("operation 3 of the list has been started, or is in a list already"))
  }
}
