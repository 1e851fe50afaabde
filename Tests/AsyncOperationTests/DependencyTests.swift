import Foundation
import TestSupport
import Testing

@testable import AsyncOperation

/// Rings of dependencies, and long chains.
@Suite(.watched) struct DependencyTests {
  private func operations(_ name: String, _ count: Int) -> [Subclass] {
    (0..<count).map { index in
      let operation = Subclass { $0.finish() }
      operation.name = "\(name) \(index)"
      return operation
    }
  }

  @Test func `an operation that depends on itself fails, and the report names it`() async throws {
    Reports.begin()
    let operation = operations("own tail", 1)[0]
    operation.addDependency(operation)
    let queue = OperationQueue()
    queue.addOperation(operation)
    _ = try await operation.endInTime()
    guard case .deadlock(let ring)? = operation.end?.error as? QueueError else {
      Issue.record("ended as \(String(describing: operation.end))")
      return
    }
    let name = #"operation "own tail 0" (Subclass)"#
    #expect(ring == "a ring of dependencies: \(name) waits for \(name)")
    #expect(operation.mains.value == 0)
    #expect(await Reports.told("own tail").map(\.kind) == [.deadlock])
    #expect(await queue.finishesInTime())
  }

  @Test(arguments: [2, 3, 10])
  func `the dependency that closes a ring is refused, and the others run`(count: Int) async throws {
    Reports.begin()
    let ring = operations("ring of \(count),", count)
    for index in 1..<count { ring[index].addDependency(ring[index - 1]) }
    ring[0].addDependency(ring[count - 1])
    #expect(ring[0].dependencies.isEmpty)
    let queue = OperationQueue()
    queue.add(ring)
    #expect(await queue.finishesInTime())
    #expect(ring[0].mains.value == 0 && ring.dropFirst().allSatisfy { $0.mains.value == 1 })
    guard case .deadlock(let message)? = ring[0].end?.error as? QueueError else {
      Issue.record("ended as \(String(describing: ring[0].end))")
      return
    }
    let order = [0] + (1..<count).reversed() + [0]
    let names = order.map { #"operation "ring of \#(count), \#($0)" (Subclass)"# }
    #expect(message == "a ring of dependencies: " + names.joined(separator: " waits for "))
    #expect(await Reports.told("ring of \(count),").count == 1)
  }

  @Test func `a ring through Foundation's operations is seen when one of ours closes it`()
    async throws
  {
    Reports.begin()
    let ours = operations("closing", 1)[0]
    let plain = BlockOperation {}
    plain.addDependency(ours)
    ours.addDependency(plain)
    let queue = OperationQueue()
    queue.add([ours, plain])
    #expect(await queue.finishesInTime())
    #expect(ours.mains.value == 0 && plain.isFinished)
    #expect(
      await Reports.told("\"closing 0\" (Subclass) waits for operation (BlockOperation)").count == 1
    )
  }

  @Test func `a ring that Foundation's operation closes is seen when ours is added to a queue`()
    async throws
  {
    Reports.begin()
    let ours = operations("closed elsewhere", 1)[0]
    let plain = BlockOperation {}
    ours.addDependency(plain)
    plain.addDependency(ours)
    let queue = OperationQueue()
    queue.add([ours, plain])
    let end = try await ours.endInTime()
    #expect(end == "failed(?)" && ours.mains.value == 0)
    #expect(await Reports.told("closed elsewhere").count == 1)
    #expect(await queue.finishesInTime())
  }

  @Test func `a ring that is closed after all have been added is seen by who waits for it`()
    async throws
  {
    Reports.begin()
    let ring = operations("waited for", 1)
    let plain = BlockOperation {}
    let follower = operations("follower of the ring", 1)[0]
    let queue = OperationQueue()
    let gate = Subclass()
    plain.addDependency(gate)
    ring[0].addDependency(plain)
    follower.addDependency(ring[0])
    queue.add(ring + [plain, follower])
    plain.addDependency(ring[0])
    gate.start()
    gate.finish()
    // It waits for a member of the ring, but is not one.
    let returned = Signal()
    Thread.detachNewThread {
      follower.waitUntilFinished()
      returned.raise()
    }
    #expect(await returned.wait())
    #expect(follower.end?.text == "finished" && ring[0].end?.text == "failed(?)")
    #expect(await Reports.told("waited for").count == 1)
    #expect(await queue.finishesInTime())
  }

  @Test func `a ring of more than 1,000 with one of Foundation's is seen by who waits for it`()
    async throws
  {
    Reports.begin()
    let chain = operations("long ring", 1_500)
    for index in 1..<chain.count { chain[index].addDependency(chain[index - 1]) }
    let plain = BlockOperation {}
    plain.addDependency(chain[chain.count - 1])
    chain[0].addDependency(plain)
    #expect(chain[0].dependencies == [plain] && chain[0].text == "pending")
    let queue = OperationQueue()
    // The queue waits for its operations in this order, so for one of ours first.
    queue.add(chain)
    queue.addOperation(plain)
    #expect(await queue.finishesInTime())
    #expect(chain.count { $0.end?.text == "failed(?)" } == 1)
    #expect(await Reports.told("\"long ring 7\"").count == 1)
  }

  @Test func `of two threads that close a ring together one at least finds it`() async throws {
    Reports.begin()
    for run in 0..<scaled(200) {
      let pair = operations("pair \(run):", 2)
      let done = Signal(count: 2)
      for (first, second) in [(pair[0], pair[1]), (pair[1], pair[0])] {
        DispatchQueue.global().async {
          first.addDependency(second)
          done.raise()
        }
      }
      #expect(await done.wait())
      let queue = OperationQueue()
      queue.add(pair)
      #expect(await queue.finishesInTime())
      #expect(pair.contains { $0.end?.text == "failed(?)" })
      #expect((1...2).contains(Reports.about("pair \(run):").count))
    }
  }

  @Test func `many operations that depend on each other without a ring are not taken for one`()
    async throws
  {
    var random = SeededGenerator(seed: 1)
    for round in 0..<scaled(20) {
      let all = operations("no ring \(round):", 60)
      // Each depends on some of those before it, in a random order.
      let order = all.shuffled(using: &random)
      var links: [(Int, Int)] = []
      for index in 1..<order.count {
        for _ in 0..<3 { links.append((index, Int.random(in: 0..<index, using: &random))) }
      }
      for (from, to) in links.shuffled(using: &random) { order[from].addDependency(order[to]) }
      let queue = OperationQueue()
      queue.add(all)
      #expect(await queue.finishesInTime())
      #expect(all.allSatisfy { $0.end?.text == "finished" })
    }
  }

  @Test func `dependencies hold up an operation, in each of the orders in which they can be set`()
    async throws
  {
    let first = operations("first", 1)[0]
    let second = operations("second", 1)[0]
    let queue = OperationQueue()
    second.addDependency(first)
    second.addDependency(first)
    #expect(second.dependencies == [first] && !second.isReady && first.isReady)
    queue.addOperation(second)
    queue.addOperation(first)
    #expect(try await second.endInTime() == "finished")
    let late = operations("late", 1)[0]
    late.addDependency(first)
    #expect(late.isReady, "what it depends on has finished")
  }

  @Test(arguments: [true, false])
  func `a chain of 100,000 is built, run and let go of, whichever end it is built from`(
    isForward: Bool
  ) {
    let count = scaled(100_000)
    let last: Subclass
    do {
      let chain = (0..<count).map { _ in Subclass { $0.finish() } }
      let indices = Array(1..<count)
      for index in isForward ? indices : indices.reversed() {
        chain[index].addDependency(chain[index - 1])
      }
      // Started by hand, as Foundation's queue looks at all waiting operations whenever one ends.
      for operation in chain {
        #expect(operation.isReady)
        operation.start()
      }
      #expect(chain.allSatisfy { $0.isFinished })
      last = chain[count - 1]
    }
    #expect(last.isFinished)
  }

  @Test func `a chain in a queue runs in its order, whichever end is added first`() async throws {
    let count = 1_000
    let log = Log<Int>()
    let chain = (0..<count).map { number in
      Subclass { operation in
        log.add(number)
        operation.finish()
      }
    }
    for index in (1..<count).reversed() { chain[index].addDependency(chain[index - 1]) }
    let queue = OperationQueue()
    queue.add(chain.reversed())
    #expect(await queue.finishesInTime())
    let isInOrder = log.entries == Array(0..<count)
    #expect(isInOrder)
  }

  @Test func `an operation may go away before what it depends on has finished`() async throws {
    for _ in 0..<scaled(200) {
      let dependency = Subclass()
      let pending = Subclass()
      let queue = OperationQueue()
      weak var cancelled: Subclass?
      weak var unused: Subclass?
      do {
        let operation = Subclass()
        cancelled = operation
        operation.addDependency(dependency)
        queue.addOperation(operation)
        operation.cancel()
        _ = try await operation.endInTime()
        let other = Subclass()
        unused = other
        other.addDependency(dependency)
        other.addDependency(pending)
      }
      #expect(await queue.finishesInTime())
      #expect(unused == nil)
      // Foundation's threads may still be about to release it; each order is right.
      dependency.start()
      dependency.finish()
      pending.start()
      pending.finish()
      #expect(await comesTrue { cancelled == nil })
    }
  }

  /// Each dependency is released by one thread while it ends on another.
  @Test(arguments: [true, false])
  func `an operation may go away while what it depends on ends`(isOurs: Bool) async {
    for _ in 0..<scaled(5_000) {
      let dependency = isOurs ? Subclass { $0.finish() } : BlockOperation {}
      var dependents = (0..<4).map { _ in Subclass() }
      for dependent in dependents { dependent.addDependency(dependency) }
      let begun = DispatchSemaphore(value: 0)
      let done = Signal()
      DispatchQueue.global().async {
        begun.signal()
        dependency.start()
        done.raise()
      }
      begun.wait()
      dependents = []
      #expect(await done.wait())
    }
  }

  /// A queue that noted an older answer would never start the operation.
  @Test func `an operation is ready if its dependency ends while that is being asked`() async {
    for _ in 0..<scaled(200) {
      let (dependency, dependent) = (BlockOperation {}, Subclass())
      dependent.addDependency(dependency)
      let (answer, done) = (Protected(false), Signal())
      // Holds up whoever has just found that it is not ready.
      dependent.storage.withLinks { _ in
        let begun = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
          begun.signal()
          answer.withLock { $0 = dependent.isReady }
          done.raise()
        }
        begun.wait()
        for _ in 0..<100 { sched_yield() }
        dependency.start()
      }
      #expect(await done.wait())
      #expect(answer.withLock { $0 })
    }
  }

  @Test(arguments: [true, false])
  func `an operation does not wait for a dependency that was removed`(isInQueue: Bool) async throws
  {
    let operation = Subclass { $0.finish() }
    let (removed, kept) = (Subclass { $0.finish() }, Subclass { $0.finish() })
    operation.addDependency(removed)
    operation.addDependency(kept)
    let queue = OperationQueue()
    if isInQueue { queue.addOperation(operation) }
    operation.removeDependency(removed)
    #expect(operation.dependencies == [kept] && !operation.isReady)
    if !isInQueue { queue.addOperation(operation) }
    queue.addOperation(kept)
    #expect(try await operation.endInTime() == "finished")
    #expect(removed.state == .pending)
  }

  @Test func `a cancelled operation ends although a dependency that has ended is removed`()
    async throws
  {
    let (operation, ended) = (Subclass(), Subclass { $0.finish() })
    operation.addDependency(ended)
    ended.start()
    operation.cancel()
    operation.removeDependency(ended)
    let queue = OperationQueue()
    queue.addOperation(operation)
    #expect(try await operation.endInTime() == "cancelled(request)")
  }

  @Test func `a chain that was never started is let go of without using the stack up`() async {
    weak var first: Subclass?
    do {
      var last = Subclass()
      first = last
      for _ in 1..<scaled(200_000) {
        let next = Subclass()
        next.addDependency(last)
        last = next
      }
      #expect(first != nil)
    }
    #expect(first == nil)
  }
}
