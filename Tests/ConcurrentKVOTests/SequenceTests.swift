import ConcurrentKVO
import TestSupport
import Testing

/// Values and changes as asynchronous sequences, and waits.
@Suite(.timeLimit(.minutes(2))) struct SequenceTests {
  @Test func `a sequence begins with the value as it is, and has each change`() async {
    let value = ConcurrentKVO(0)
    var texts: [String] = []
    for await change in value.changes() {
      texts.append(change.text)
      if change.new == 1000 { break }
      value.value = change.new + 1
    }
    #expect(texts == [">0"] + (1...1000).map { "\($0 - 1)>\($0)" })
  }

  @Test func `a sequence has every value that another thread sets`() async {
    let value = ConcurrentKVO(0)
    var sequence = value.values().makeAsyncIterator()
    let setter = TestThread { for number in 1...1000 { value.value = number } }
    var numbers: [Int] = []
    while let number = await sequence.next() {
      numbers.append(number)
      if number == 1000 { break }
    }
    #expect(numbers == Array(0...1000))
    setter.join()
  }

  @Test func `buffers keep what they are made to keep`() async {
    typealias Policy = AsyncStream<ValueChange<Int>>.Continuation.BufferingPolicy
    func kept(_ buffering: Policy) async -> [String] {
      var value: ConcurrentKVO<Int>? = ConcurrentKVO(0)
      var iterator = value!.changes(buffering: buffering).makeAsyncIterator()
      for number in 1...5 { value!.value = number }
      value = nil
      var texts: [String] = []
      while let change = await iterator.next() { texts.append(change.text) }
      return texts
    }
    #expect(await kept(.unbounded) == [">0", "0>1", "1>2", "2>3", "3>4", "4>5"])
    #expect(await kept(.bufferingNewest(1)) == [">5"])
    #expect(await kept(.bufferingOldest(1)) == [">0"])
    #expect(await kept(.bufferingOldest(2)) == [">0", "0>1"])
    #expect(await kept(.bufferingNewest(2)) == ["3>4", "4>5"])
  }

  @Test func `a sequence of the latest has no gap`() async {
    let value = ConcurrentKVO(0)
    let setter = TestThread { for number in 1...scaled(20_000) { value.value = number } }
    var last: Int?
    for await change in value.changes(buffering: .bufferingNewest(1)) {
      if let last { #expect(change.old == last) }
      last = change.new
      if change.new == scaled(20_000) { break }
    }
    setter.join()
  }

  @Test func `a sequence ends when its task is cancelled or the value goes`() async {
    var value: ConcurrentKVO<Int>? = ConcurrentKVO(0)
    let sequences = (0..<2).map { _ in value!.values() }
    let begun = Gate("the first value")
    let cancelled = Task {
      for await _ in sequences[0] { begun.pass() }
    }
    let left = Task {
      for await _ in sequences[1] { begun.pass() }
    }
    while begun.passed < 2 { await Task.yield() }
    cancelled.cancel()
    await cancelled.value
    value = nil
    await left.value
    #expect(begun.passed == 2)
  }

  @Test func `a wait takes the value as it is, or each one from then on`() {
    let value = ConcurrentKVO(3)
    #expect(value.wait { $0 == 3 } == 3)
    #expect(value.wait(timeout: .zero) { $0 == 4 } == nil)
    #expect(value.wait(timeout: .milliseconds(1)) { $0 == 4 } == nil)
    let asked = Gate("the first question")
    let waiter = TestThread {
      #expect(
        value.wait(timeout: limit) {
          asked.pass()
          return $0 == 500
        } == 500)
    }
    asked.wait()
    for number in 1...1000 { value.value = number }
    waiter.join()
  }

  @Test func `a wait ends with the error of its predicate`() {
    struct Refused: Error {}
    let value = ConcurrentKVO(0)
    #expect(throws: Refused.self) {
      try value.wait { (_: Int) throws(Refused) -> Bool in throw Refused() }
    }
  }

  @Test func `a wait inside an inline observer of the value is refused`() {
    let value = ConcurrentKVO(0)
    let results = Log<Int?>()
    let observation = value.observe { _ in results.add(value.wait { $0 == 7 }) }
    value.value = 1
    #expect(results.entries == [nil])
    withExtendedLifetime(observation) {}
  }
}
