import ConcurrentKVO
import TestSupport
import Testing

/// Defects of the original package.
@Suite struct OriginalDefectTests {
  @Test func `an optional reads what was written`() {
    let value = ConcurrentKVO<Int?>(nil)
    #expect(value.value == nil)
    value.value = 7
    #expect(value.value == 7)
    value.value = nil
    #expect(value.value == nil)
    let locked = RWLockedValue<String?>("text")
    #expect(locked.value == "text")
    let compliant = KVOCompliantValue<Int?>(5)
    #expect(compliant.value == 5)
  }

  @Test func `an observer of an optional tells no old value from an old nil`() {
    let value = ConcurrentKVO<Int?>(nil)
    let log = Log<ValueChange<Int?>>()
    let observation = value.observe(.initial) { log.add($0) }
    value.value = 1
    value.value = nil
    #expect(log.entries.map(\.old) == [.none, .some(nil), .some(1)])
    #expect(log.entries.map(\.new) == [nil, 1, nil])
    withExtendedLifetime(observation) {}
  }

  @Test(arguments: [false, true])
  func `+= 1 loses no update`(setSynchronously: Bool) {
    let value = ConcurrentKVO(0, setSynchronously: setSynchronously)
    let each = scaled(10_000)
    inParallel(4) { _ in
      for _ in 0..<each { value.value += 1 }
    }
    #expect(value.value == 4 * each)
  }

  @Test func `+= 1 loses no update of the other kinds of values`() {
    let compliant = KVOCompliantValue(0)
    let locked = RWLockedValue(0)
    let each = scaled(10_000)
    inParallel(4) { _ in
      for _ in 0..<each {
        compliant.value += 1
        locked.value += 1
      }
    }
    #expect(compliant.value == 4 * each)
    #expect(locked.value == 4 * each)
  }

  @Test(arguments: [false, true])
  func `a set from inside an observer does not trap`(setSynchronously: Bool) {
    final class Owner: Sendable {}
    let value = ConcurrentKVO(
      0, object: Owner(), key: "value", setSynchronously: setSynchronously)
    let log = Log<String>()
    let observation = value.observe { change in
      log.add(change.text)
      if change.new < 3 { value.value = change.new + 1 }
    }
    value.value = 1
    #expect(value.wait(timeout: limit) { $0 == 3 } == 3)
    #expect(value.drain(timeout: limit))
    #expect(log.entries == ["0>1", "1>2", "2>3"])
    withExtendedLifetime(observation) {}
  }

  @Test(arguments: [false, true])
  func `the owner may go before its value does`(setSynchronously: Bool) {
    final class Owner: Sendable {}
    var owner: Owner? = Owner()
    weak let witness = owner
    let value = ConcurrentKVO(
      0, object: owner!, key: "value", setSynchronously: setSynchronously)
    let told = Gate("the change")
    let observation = value.observe { _ in told.pass() }
    owner = nil
    #expect(witness == nil)
    value.value = 1
    told.wait()
    #expect(value.value == 1)
    withExtendedLifetime(observation) {}
  }
}
