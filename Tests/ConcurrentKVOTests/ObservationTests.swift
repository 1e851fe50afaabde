import ConcurrentKVO
import TestSupport
import Testing

/// How an observation ends.
@Suite struct ObservationTests {
  @Test func `a cancelled observer is not called again, and is let go of`() {
    let census = Census()
    let value = ConcurrentKVO(0)
    let told = Gate("the change")
    let observation = value.observe { [context = census.make()] _ in
      told.pass()
      withExtendedLifetime(context) {}
    }
    value.value = 1
    observation.cancel()
    value.value = 2
    observation.cancel()
    #expect(told.passed == 1)
    census.expectNone()
  }

  @Test func `an observation ends when it is let go of`() {
    let value = ConcurrentKVO(0)
    let told = Gate("the change")
    var observation: ValueObservation? = value.observe { _ in told.pass() }
    value.value = 1
    withExtendedLifetime(observation) {}
    observation = nil
    value.value = 2
    #expect(told.passed == 1)
  }

  @Test func `an observation keeps nothing of a value that has gone away`() {
    let census = Census()
    let observation = ConcurrentKVO(census.make()).observe { _ in }
    census.expectNone()
    withExtendedLifetime(observation) { observation.cancel() }
  }

  @Test func `cancel waits for the observer to return`() {
    let value = ConcurrentKVO(0)
    let begun = Gate("the call")
    let cancelling = Gate("the cancel")
    let mayReturn = Gate("the word to return")
    let hasReturned = Gate("the end of the call")
    let observation = value.observe { _ in
      begun.pass()
      mayReturn.wait()
      hasReturned.pass()
    }
    let setter = TestThread { value.value = 1 }
    begun.wait()
    #expect(!observation.cancel(timeout: .zero))
    let canceller = TestThread {
      cancelling.pass()
      observation.cancel()
      #expect(hasReturned.passed == 1)
    }
    cancelling.wait()
    mayReturn.pass()
    canceller.join()
    setter.join()
    #expect(observation.cancel(timeout: .zero))
  }

  @Test func `an observer that never returns holds up neither reads nor other changes`() {
    let value = ConcurrentKVO(0)
    let begun = Gate("the call")
    let mayReturn = Gate("the word to return")
    let observation = value.observe { _ in
      begun.pass()
      mayReturn.wait()
    }
    let setter = TestThread { value.value = 1 }
    begun.wait()
    value.value = 2
    value.value += 1
    #expect(value.value == 3)
    #expect(!observation.cancel(timeout: .milliseconds(1)))
    #expect(!value.drain(timeout: .milliseconds(1)))
    mayReturn.pass()
    setter.join()
    #expect(begun.passed == 1)
    #expect(value.drain(timeout: limit))
  }

  @Test func `an observer that cancels itself is let go of when it returns`() {
    let value = ConcurrentKVO(0)
    let told = Gate("the change")
    let own = ConcurrentKVO<ValueObservation?>(nil)
    own.value = value.observe { _ in
      told.pass()
      own.value?.cancel()
      value.value += 1
    }
    value.value = 1
    #expect(told.passed == 1)
    #expect(value.value == 2)
  }

  @Test func `an observer cancels one that is still to be told of the same change`() {
    let value = ConcurrentKVO(0)
    let log = Log<String>()
    let later = ConcurrentKVO<ValueObservation?>(nil)
    let first = value.observe { _ in
      log.add("first")
      later.value?.cancel()
    }
    later.value = value.observe { _ in log.add("second") }
    let third = value.observe { _ in log.add("third") }
    value.value = 1
    #expect(log.entries == ["first", "third"])
    withExtendedLifetime((first, third)) {}
  }

  @Test func `an observer cancels one that was told before it`() {
    let value = ConcurrentKVO(0)
    let log = Log<String>()
    let first = value.observe { _ in log.add("first") }
    let second = value.observe { _ in
      log.add("second")
      first.cancel()
    }
    let third = value.observe { _ in log.add("third") }
    value.value = 1
    value.value = 2
    #expect(log.entries == ["first", "second", "third", "second", "third"])
    withExtendedLifetime((second, third)) {}
  }

  @Test func `observers that cancel each other at once are not left waiting`() {
    let first = ConcurrentKVO(0)
    let second = ConcurrentKVO(0)
    let inside = Gate("both observers")
    let observations = ConcurrentKVO<[ValueObservation]>([])
    observations.value = [
      first.observe { _ in
        inside.pass()
        inside.wait(for: 2)
        observations.value[1].cancel()
      },
      second.observe { _ in
        inside.pass()
        inside.wait(for: 2)
        observations.value[0].cancel()
      },
    ]
    let threads = [TestThread { first.value = 1 }, TestThread { second.value = 1 }]
    for thread in threads { thread.join() }
    first.value = 2
    second.value = 2
    #expect(inside.passed == 2)
  }

  @Test func `a value that goes ends its observations`() {
    let census = Census()
    var value: ConcurrentKVO<Int>? = ConcurrentKVO(0)
    let observation = value?.observe { [context = census.make()] _ in
      withExtendedLifetime(context) {}
    }
    value = nil
    census.expectNone()
    observation?.cancel()
  }

  @Test func `cancelling while others change the value never lets the observer in again`() {
    let value = ConcurrentKVO(0)
    let isOver = ConcurrentKVO(false)
    let setters = (0..<2).map { _ in
      TestThread { while !isOver.value { value.value += 1 } }
    }
    for _ in 0..<scaled(3000) {
      let isCancelled = ConcurrentKVO(false)
      let observation = value.observe { _ in #expect(!isCancelled.value) }
      observation.cancel()
      isCancelled.value = true
    }
    isOver.value = true
    for setter in setters { setter.join() }
  }
}
