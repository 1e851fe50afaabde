import ConcurrentKVO
import TestSupport
import Testing

/// What one or several observers see of one thread's changes.
@Suite struct TrailTests {
  let log = Log<String>()

  func note(_ name: String = "") -> @Sendable (ValueChange<Int>) -> Void {
    { [log] in log.add(name + $0.text) }
  }

  @Test func `an observer is told the old and the new value of each change, in order`() {
    let value = ConcurrentKVO(1)
    let observation = value.observe(calling: note())
    value.value = 2
    value.value = 2
    value.value += 3
    value.modify { $0 *= 2 }
    #expect(value.exchange(0) == 10)
    #expect(log.entries == ["1>2", "2>2", "2>5", "5>10", "10>0"])
    observation.cancel()
  }

  @Test func `changes are numbered from 1`() {
    let value = ConcurrentKVO("a")
    let numbers = Log<UInt64>()
    value.value = "b"
    let observation = value.observe(.initial) { numbers.add($0.number) }
    value.value = "c"
    value.value = "d"
    #expect(numbers.entries == [1, 2, 3])
    observation.cancel()
  }

  @Test func `each observer is told of a change before any is told of the next`() {
    let value = ConcurrentKVO(0)
    let first = value.observe { [log] change in
      log.add("a" + change.text)
      if change.new == 1 { value.value = 2 }
    }
    let second = value.observe(calling: note("b"))
    let third = value.observe(calling: note("c"))
    value.value = 1
    #expect(log.entries == ["a0>1", "b0>1", "c0>1", "a1>2", "b1>2", "c1>2"])
    withExtendedLifetime((first, second, third)) {}
  }

  @Test func `an initial value comes first and has no old one`() {
    let value = ConcurrentKVO(7)
    let observation = value.observe(.initial, calling: note())
    value.value = 8
    #expect(log.entries == [">7", "7>8"])
    withExtendedLifetime(observation) {}
  }

  @Test func `a prior notification comes before any observer is told of the change`() {
    let value = ConcurrentKVO(0)
    let first = value.observe(calling: note("a"))
    let second = value.observe(.prior, calling: note("b"))
    value.value = 1
    value.value = 2
    #expect(log.entries == ["b(0>1)", "a0>1", "b0>1", "b(1>2)", "a1>2", "b1>2"])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `one who wants the latest only is told of joined changes without a gap`() {
    let value = ConcurrentKVO(0)
    let first = value.observe { change in
      if change.new == 1 {
        value.value = 2
        value.value = 3
      }
    }
    let second = value.observe(.latest, calling: note())
    value.value = 1
    value.value = 4
    #expect(log.entries == ["0>3", "3>4"])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `an observation that begins inside an observer is told of what comes then`() {
    let value = ConcurrentKVO(0)
    let inner = Log<ValueObservation>()
    let observation = value.observe { [log] change in
      guard change.new == 1 else { return }
      inner.add(value.observe(.initial) { log.add("inner " + $0.text) })
      value.value = 2
    }
    value.value = 1
    value.value = 3
    #expect(log.entries == ["inner >1", "inner 1>2", "inner 2>3"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an observer reads the value while it is being told`() {
    let value = ConcurrentKVO([0])
    let observation = value.observe { [log] in log.add("\($0.new) \(value.value)") }
    value.value = [1]
    #expect(log.entries == ["[1] [1]"])
    withExtendedLifetime(observation) {}
  }

  @Test func `a set from inside an observer is told after the round, in order`() {
    let value = ConcurrentKVO(0)
    let observation = value.observe { [log] change in
      log.add("begin " + change.text)
      if change.new == 1 {
        value.value = 2
        value.value = 3
        log.add("reads \(value.value)")
      }
      log.add("end " + change.text)
    }
    value.value = 1
    #expect(
      log.entries == [
        "begin 0>1", "reads 3", "end 0>1", "begin 1>2", "end 1>2", "begin 2>3", "end 2>3",
      ])
    withExtendedLifetime(observation) {}
  }

  @Test(arguments: [false, true])
  func `the trail has no gap whether changes tell it at once or leave it to a worker`(
    setSynchronously: Bool
  ) {
    let value = ConcurrentKVO(0, setSynchronously: setSynchronously)
    let observation = value.observe(calling: note())
    for number in 1...1000 { value.value = number }
    #expect(value.value == 1000)
    #expect(value.drain(timeout: limit))
    #expect(log.entries == (1...1000).map { "\($0 - 1)>\($0)" })
    withExtendedLifetime(observation) {}
  }

  @Test func `changes that were left to a worker are told though the value goes`() {
    let told = Gate("the change")
    var value: ConcurrentKVO<Int>? = ConcurrentKVO(0, setSynchronously: false)
    let observation = value?.observe { _ in told.pass() }
    value?.value = 1
    value = nil
    told.wait()
    withExtendedLifetime(observation) {}
  }

  /// Reads the value that it was in when it is destroyed.
  final class Parting: Sendable {
    let number: Int
    let place: ConcurrentKVO<Parting?>
    let gone: Gate

    init(_ number: Int, _ place: ConcurrentKVO<Parting?>, _ gone: Gate) {
      self.number = number
      self.place = place
      self.gone = gone
    }

    deinit {
      _ = place.value
      place.modify { _ in }
      gone.pass()
    }
  }

  @Test func `what a value lets go of may use the value`() {
    let value = ConcurrentKVO<Parting?>(nil)
    let gone = Gate("all that was let go of")
    let looks = Log<@Sendable () -> Void>()
    let thread = TestThread("the changes") {
      let observations = [
        value.observe { change in
          guard let number = change.new?.number, number % 10 == 0 else { return }
          value.value = Parting(number + 1, value, gone)
          value.value = Parting(number + 2, value, gone)
        },
        value.observe(.latest) { _ in }, value.observe([.initial, .prior]) { _ in },
        value.observe(.latest, on: .scheduled { looks.add($0) }) { _ in },
      ]
      let own = ConcurrentKVO<ValueObservation?>(nil)
      own.value = value.observe(.latest) { _ in own.value?.cancel() }
      for number in 1...100 { value.value = Parting(10 * number, value, gone) }
      for look in looks.entries { look() }
      value.value = nil
      for observation in observations { observation.cancel() }
      own.value = nil
    }
    thread.join()
    gone.wait(for: 300)
    #expect(gone.passed == 300)
  }

  @Test func `values are let go of, with their trail, when the value goes`() {
    let census = Census()
    do {
      let value = ConcurrentKVO(census.make())
      let seen = Log<Int>()
      let first = value.observe { seen.add($0.new.number) }
      let second = value.observe(.latest, on: .pool) { seen.add($0.new.number) }
      for number in 1...100 { value.value = census.make(number) }
      _ = value.drain(timeout: limit)
      #expect(seen.entries.filter { $0 == 100 }.count == 2)
      withExtendedLifetime((first, second)) {}
    }
    census.expectNone()
  }
}
