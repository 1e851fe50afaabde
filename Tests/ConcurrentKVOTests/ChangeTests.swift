import ConcurrentKVO
import Observation
import TestSupport
import Testing

/// Ways to change a value, and to get one.
@Suite struct ChangeTests {
  struct Refused: Error {}

  @Test func `modify is atomic, and its function may use the value`() {
    let value = ConcurrentKVO(0)
    let each = scaled(5000)
    inParallel(4) { _ in
      for _ in 0..<each { value.modify { $0 = max($0, value.value) + 1 } }
    }
    #expect(value.value == 4 * each)
  }

  @Test func `modify is repeated when another change comes between, and gives its last result`() {
    let value = ConcurrentKVO(0)
    var calls = 0
    let result = value.modify { number -> Int in
      calls += 1
      if calls == 1 { value.value = 10 }
      number += 1
      return number
    }
    #expect(result == 11)
    #expect(value.value == 11)
    #expect(calls == 2)
  }

  @Test func `modify that throws changes nothing`() {
    let value = ConcurrentKVO(1)
    let told = Gate("a change")
    let observation = value.observe { _ in told.pass() }
    #expect(throws: Refused.self) {
      try value.modify { (number: inout Int) throws(Refused) in
        number = 2
        throw Refused()
      }
    }
    #expect(value.value == 1)
    #expect(told.passed == 0)
    withExtendedLifetime(observation) {}
  }

  @Test func `modify whose function always changes the same value says what to do instead`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let value = ConcurrentKVO(0)
      value.modify { $0 += value.exchange(7) }
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("Change its argument instead"))
  }

  @Test func `modify goes on however often other threads change the value`() {
    let value = ConcurrentKVO(0)
    var calls = 0
    value.modify { number in
      calls += 1
      let call = calls
      if call <= 1100 { TestThread { value.value = call }.join() }
      number += 1
    }
    #expect(calls == 1101)
    #expect(value.value == 1101)
  }

  @Test func `modify that throws after many calls leaves the value to be changed`() {
    let value = ConcurrentKVO(0)
    var calls = 0
    #expect(throws: Refused.self) {
      try value.modify { (number: inout Int) throws(Refused) in
        calls += 1
        if calls == 1100 { throw Refused() }
        let call = calls
        TestThread { value.value = call }.join()
      }
    }
    value.value += 1
    #expect(value.value == 1100)
  }

  @Test func `compareExchange changes an equal value only`() {
    let value = ConcurrentKVO("a")
    #expect(value.compareExchange(expected: "b", desired: "c") == (false, "a"))
    #expect(value.compareExchange(expected: "a", desired: "c") == (true, "a"))
    #expect(value.value == "c")
  }

  @Test func `one of several threads wins each compareExchange`() {
    let value = ConcurrentKVO(0)
    let wins = ConcurrentKVO(0)
    let rounds = scaled(5000)
    inParallel(4) { _ in
      for round in 0..<rounds
      where value.compareExchange(expected: round, desired: round + 1).exchanged {
        wins.value += 1
      }
    }
    #expect(value.value == wins.value)
  }

  @Test func `a change in place is told once, and reads meanwhile give the old value`() {
    let value = ConcurrentKVO([1])
    let log = Log<String>()
    let observation = value.observe { log.add($0.text) }
    func change(_ list: inout [Int]) {
      list.append(2)
      log.add("\(value.value)")
      list.append(3)
    }
    change(&value.value)
    #expect(log.entries == ["[1]", "[1]>[1, 2, 3]"])
    withExtendedLifetime(observation) {}
  }

  @Test func `other changes wait for one in place`() {
    let value = ConcurrentKVO(0)
    let begun = Gate("the change in place")
    let waits = Gate("the other change")
    func change(_ number: inout Int) {
      begun.pass()
      waits.wait()
      number += 1
    }
    let other = TestThread {
      begun.wait()
      waits.pass()
      value.value = 10
    }
    change(&value.value)
    other.join()
    #expect(value.value == 10)
  }

  @Test func `setting a value inside its own change in place says what to do instead`() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let value = ConcurrentKVO(0)
      func change(_ number: inout Int) { value.value = 1 }
      change(&value.value)
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("Call `f` first, and use its result"))
  }

  final class Model {
    @ConcurrentKVO var count = 1
    @KVOCompliantValue var name = "a"
  }

  @Test func `a property wrapper has the value, and what observes it behind a dollar sign`() {
    let model = Model()
    let log = Log<String>()
    let observations = [
      model.$count.observe { log.add($0.text) }, model.$name.observe { log.add($0.text) },
    ]
    model.count += 1
    model.name = "b"
    #expect(model.count == 2)
    #expect(log.entries == ["1>2", "a>b"])
    withExtendedLifetime(observations) {}
  }

  @Observable final class Watched {
    @ObservationIgnored @ConcurrentKVO private var stored = 0
    var count: Int {
      get { $stored.tracked }
      set { $stored.tracked = newValue }
    }
  }

  @Test func `Swift's Observation sees tracked reads, in an observable class and alone`() {
    let watched = Watched()
    let value = ConcurrentKVO("a")
    let changed = Gate("the handler")
    withObservationTracking {
      _ = watched.count
    } onChange: {
      changed.pass()
    }
    withObservationTracking {
      _ = value.tracked
    } onChange: {
      changed.pass()
    }
    #expect(changed.passed == 0)
    watched.count += 1
    #expect(changed.passed == 1)
    watched.count += 1
    #expect(changed.passed == 1)
    value.value = "b"
    #expect(changed.passed == 2)
    #expect(watched.count == 2)
  }

  @Test func `two threads' first tracked reads at once are both told of the next change`() {
    let values = (0..<scaled(3_000)).map { _ in ConcurrentKVO(0) }
    let begun = Gate("both threads")
    let lost = Gate("a lost change")
    let readers = (0..<2).map { _ in
      TestThread {
        for (round, value) in values.enumerated() {
          let isTold = ConcurrentKVO(false)
          begun.pass()
          while begun.passed < 2 * (round + 1) {}
          withObservationTracking {
            _ = value.tracked
          } onChange: {
            isTold.value = true
          }
          value.value += 1
          // The other thread may be telling of it.
          value.drain()
          if !isTold.value { lost.pass() }
        }
      }
    }
    for reader in readers { reader.join() }
    #expect(lost.passed == 0)
  }

  @Test func `a tracked value goes as any other does`() {
    weak var witness: ConcurrentKVO<Int>?
    do {
      let value = ConcurrentKVO(0)
      witness = value
      withObservationTracking {
        _ = value.tracked
      } onChange: {
      }
      value.value = 1
    }
    #expect(witness == nil)
  }

  struct Ticket: ~Copyable {
    var number: Int
    let census: Census.Member
    init(_ number: Int, _ census: Census) {
      self.number = number
      self.census = census.make(number)
    }
  }

  @Test func `a value that cannot be copied is read and changed in its place`() {
    let census = Census()
    var value: RWLockedValue<Ticket>? = RWLockedValue(Ticket(1, census))
    useInParallel(value!)
    value!.modify { $0 = Ticket(7, census) }
    #expect(value!.read { $0.census.number } == 7)
    value = nil
    census.expectNone()
  }

  private func useInParallel(_ value: RWLockedValue<Ticket>) {
    let each = scaled(2000)
    inParallel(4) { index in
      for _ in 0..<each {
        if index < 2 {
          value.modify { $0.number += 1 }
        } else {
          value.read { #expect($0.number > 0) }
        }
      }
    }
    #expect(value.read { $0.number } == 1 + 2 * each)
    #expect(throws: Refused.self) {
      try value.modify { (_: inout Ticket) throws(Refused) in throw Refused() }
    }
  }

  @Test func `readers are let in together, and a writer alone`() {
    let value = RWLockedValue([0, 0])
    let inside = Gate("both readers")
    let readers = (0..<2).map { _ in
      TestThread {
        value.read { _ in
          inside.pass()
          inside.wait(for: 2)
        }
      }
    }
    for reader in readers { reader.join() }
    let each = scaled(5000)
    inParallel(4) { index in
      for _ in 0..<each {
        if index == 0 {
          value.modify {
            $0[0] += 1
            $0[1] += 1
          }
        } else {
          value.read { #expect($0[0] == $0[1]) }
        }
      }
    }
    #expect(value.value == [each, each])
  }
}
