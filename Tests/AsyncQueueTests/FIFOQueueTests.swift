import AsyncQueue
import TestSupport
import Testing

@Suite(.watched) struct FIFOQueueTests {
  @Test(arguments: Caller.all)
  func `operations begin and end in the order of the enqueues, and never overlap`(
    caller: Caller
  ) async throws {
    try await caller.call {
      let queue = FIFOQueue()
      let log = Log<Int>()
      let inside = Counter()
      for number in 0..<1_000 {
        queue.enqueue {
          #expect(inside.add(1) == 1)
          log.add(number)
          if number % 3 == 0 { await Task.yield() }
          log.add(number)
          inside.add(-1)
        }
      }
      await queue.drained()
      #expect(log.entries == (0..<1_000).flatMap { [$0, $0] })
    }
  }

  @Test(arguments: Caller.all)
  func `each producer's order is kept among several`(caller: Caller) async throws {
    try await caller.call {
      let queue = FIFOQueue()
      let log = Log<[Int]>()
      await withTaskGroup { group in
        for producer in 0..<4 {
          group.addTask {
            for number in 0..<1_000 { queue.enqueue { log.add([producer, number]) } }
          }
        }
      }
      await queue.drained()
      #expect(log.entries.count == 4_000)
      for producer in 0..<4 {
        #expect(log.entries.filter { $0[0] == producer }.map { $0[1] } == Array(0..<1_000))
      }
    }
  }

  @Test(arguments: Caller.all)
  func `all ways to enqueue share one order`(caller: Caller) async throws {
    try await caller.call {
      let queue = FIFOQueue()
      let notes = Notes()
      let log = Log<Int>()
      queue.suspend()
      var number = 0
      for _ in 0..<50 {
        let first = number
        queue.enqueue { log.add(first) }
        queue.enqueue(on: notes) { _ in log.add(first + 1) }
        Task(on: queue) { log.add(first + 2) }
        Task(on: queue, isolatedTo: notes) { _ in log.add(first + 3) }
        Task(on: queue) { () async throws in log.add(first + 4) }
        try queue.tryEnqueue(OperationOptions.with { $0.maxWait = .seconds(600) }) {
          log.add(first + 5)
        }
        number += 6
      }
      queue.resume()
      await queue.drained()
      #expect(log.entries == Array(0..<number))
    }
  }

  @Test func `waiting forms give the value or the error, on an actor or not`() async throws {
    let queue = FIFOQueue()
    let notes = Notes()
    #expect(await queue.enqueueAndWait { 1 } == 1)
    #expect(await queue.enqueueAndWait(on: notes) { _ in 2 } == 2)
    #expect(try await queue.enqueueAndWait { () async throws -> Int in 3 } == 3)
    await #expect(throws: SomeError()) {
      try await queue.enqueueAndWait { () async throws -> Int in throw SomeError() }
    }
    await #expect(throws: SomeError()) {
      try await queue.enqueueAndWait(on: notes) { (_) async throws -> Int in throw SomeError() }
    }
    await queue.enqueueAndWait(on: notes) { $0.add(4) }
    #expect(await notes.numbers == [4])
    #expect(queue.statistics.finished == 4)
    #expect(queue.statistics.failed == 2)
  }

  @Test func `run stays in the caller's task and isolation, and throws the body's own type`()
    async throws
  {
    let queue = FIFOQueue()
    var count = 0  // Not sendable to any other task.
    let name = await Local.$number.withValue(7) {
      await queue.run {
        count += 1
        return Local.number
      }
    }
    #expect(name == 7)
    #expect(count == 1)
    do throws(SomeError) {
      try await queue.run { () async throws(SomeError) in throw SomeError() }
      Issue.record("it throws")
    } catch {
      #expect(error == SomeError())
    }
    let onMain = Task { @MainActor in await queue.run { MainActor.assertIsolated() } }
    await onMain.value
  }

  @Test(arguments: Caller.all)
  func `run waits for its turn behind what was enqueued before`(caller: Caller) async throws {
    try await caller.call {
      let queue = FIFOQueue()
      let log = Log<Int>()
      for number in 0..<100 {
        queue.enqueue {
          await Task.yield()
          log.add(number)
        }
      }
      await queue.run { log.add(100) }
      #expect(log.entries == Array(0...100))
    }
  }

  @Test func `bodies of run never overlap, however many tasks call`() async {
    let queue = FIFOQueue()
    let inside = Counter()
    let ran = Counter()
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<500 {
            await queue.run {
              #expect(inside.add(1) == 1)
              if ran.add() % 7 == 0 { await Task.yield() }
              inside.add(-1)
            }
          }
        }
      }
    }
    #expect(ran.value == 4_000)
    #expect(queue.statistics.finished == 4_000)
  }
}
