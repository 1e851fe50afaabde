import ConcurrentKVO
import TestSupport
import Testing

/// Several values as one.
@Suite struct SnapshotTests {
  final class Model: Sendable {
    let low = ConcurrentKVO(0)
    let high = ConcurrentKVO(0)
    let name = ConcurrentKVO("a")
  }

  @Test func `a snapshot has all values, the same one twice if need be`() {
    let model = Model()
    let (low, name, again) = snapshot(of: model.low, model.name, model.low)
    #expect(low == 0 && name == "a" && again == 0)
  }

  @Test func `an observer of several values is told of the changes of each`() {
    let model = Model()
    let log = Log<String>()
    let observation = observe(model, \.low, \.name, options: .initial) { change in
      log.add("\(change.old.map { "\($0)" } ?? "") > \(change.new)")
    }
    model.low.value = 1
    model.high.value = 5
    model.name.value = "b"
    observation.cancel()
    model.low.value = 2
    #expect(
      log.entries == [
        " > (0, \"a\")", "(0, \"a\") > (1, \"a\")", "(1, \"a\") > (1, \"b\")",
      ])
  }

  @Test func `snapshots are of one moment, none is older than the one before, the last is true`() {
    let model = Model()
    let last = ConcurrentKVO((0, 0))
    let errors = Gate("errors")
    // The high one is always raised before the low one.
    let observation = observe(model, \.low, \.high) { change in
      let (low, high) = change.new
      if low > high || high > low + 1 { errors.pass() }
      if change.old! != last.value || low < last.value.0 || high < last.value.1 { errors.pass() }
      last.value = change.new
    }
    let setter = TestThread {
      for number in 1...scaled(20_000) {
        model.high.value = number
        model.low.value = number
      }
    }
    let reader = TestThread {
      for _ in 0..<scaled(20_000) {
        let (low, high) = snapshot(of: model.low, model.high)
        if low > high || high > low + 1 { errors.pass() }
      }
    }
    setter.join()
    reader.join()
    #expect(errors.passed == 0)
    #expect(last.value == (scaled(20_000), scaled(20_000)))
    withExtendedLifetime(observation) {}
  }

  @Test func `an observer of several values may set them`() {
    let model = Model()
    let observation = observe(model, \.low, \.high) { change in
      if change.new.1 < change.new.0 { model.high.value = change.new.0 }
    }
    model.low.value = 5
    #expect(snapshot(of: model.low, model.high) == (5, 5))
    withExtendedLifetime(observation) {}
  }
}
