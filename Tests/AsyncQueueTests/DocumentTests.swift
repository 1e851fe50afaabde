import AsyncQueue
import TestSupport
import Testing

/// The three programs of the first generation's document, word for word.
@Suite(.watched) struct DocumentTests {
  @Test func `a FIFO queue's tasks begin and end in order`() async {
    actor Counter {
      nonisolated
        func incrementAndAssertCountEquals(_ expectedCount: Int)
      {
        queue.enqueue {
          await self.increment()
          let incrementedCount = await self.count
          #expect(incrementedCount == expectedCount)
        }
      }

      func flushQueue() async {
        await queue.enqueueAndWait {}
      }

      func increment() {
        count += 1
      }

      var count = 0

      private let queue = FIFOQueue()
    }

    let counter = Counter()
    for iteration in 1...100 {
      counter.incrementAndAssertCountEquals(iteration)
    }
    await counter.flushQueue()
    #expect(await counter.count == 100)
  }

  @Test func `an actor queue's tasks begin in order`() async {
    actor Counter {
      init() {
        queue.adoptExecutionContext(of: self)
      }

      nonisolated
        func incrementAndAssertCountEquals(_ expectedCount: Int)
      {
        queue.enqueue { myself in
          myself.count += 1
          #expect(expectedCount == myself.count)
        }
      }

      func flushQueue() async {
        await queue.enqueueAndWait { _ in }
      }

      private(set) var count = 0
      private let queue = ActorQueue<Counter>()
    }

    let counter = Counter()
    for iteration in 1...100 {
      counter.incrementAndAssertCountEquals(iteration)
    }
    await counter.flushQueue()
    #expect(await counter.count == 100)
  }

  @MainActor
  @Test func `the main actor queue's tasks begin in order`() async {
    @MainActor
    final class Counter {
      nonisolated
        func incrementAndAssertCountEquals(_ expectedCount: Int)
      {
        MainActorQueue.shared.enqueue {
          self.increment()
          let incrementedCount = self.count
          #expect(incrementedCount == expectedCount)
        }
      }

      func flushQueue() async {
        await MainActorQueue.shared.enqueueAndWait {}
      }

      func increment() {
        count += 1
      }

      var count = 0
    }

    let counter = Counter()
    for iteration in 1...100 {
      counter.incrementAndAssertCountEquals(iteration)
    }
    await counter.flushQueue()
    #expect(counter.count == 100)
  }
}
