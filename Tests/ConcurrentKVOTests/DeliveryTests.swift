import ConcurrentKVO
import Dispatch
import TestSupport
import Testing

@testable import InturnCore

/// Where observers are called.
@Suite struct DeliveryTests {
  actor Place {
    var log: [String] = []
    func note(_ text: String) { log.append(text) }
  }

  static let expected = [">0"] + (1...200).map { "\($0 - 1)>\($0)" }

  private func change(_ value: ConcurrentKVO<Int>) {
    for number in 1...200 { value.value = number }
    #expect(value.drain(timeout: limit))
  }

  @Test func `on the pool, an observer is told everything in order`() {
    let value = ConcurrentKVO(0)
    let log = Log<String>()
    let observation = value.observe(.initial, on: .pool) { log.add($0.text) }
    change(value)
    #expect(log.entries == Self.expected)
    withExtendedLifetime(observation) {}
  }

  @Test func `on a dispatch queue, an observer is told everything in order`() {
    let value = ConcurrentKVO(0)
    let log = Log<String>()
    let queue = DispatchQueue(label: "observer", attributes: .concurrent)
    let observation = value.observe(.initial, on: .scheduled { queue.async(execute: $0) }) {
      log.add($0.text)
    }
    change(value)
    #expect(log.entries == Self.expected)
    withExtendedLifetime(observation) {}
  }

  @Test func `on a queue of ours, an observer is told everything in order`() {
    let none = Handle(bits: 0)
    let (_, queue) = Engine.createQueue(QueueOptions(kind: .fifo), executor: none, clock: none)
    let value = ConcurrentKVO(0)
    let log = Log<String>()
    let observation = value.observe(.initial, on: .queue(queue)) { log.add($0.text) }
    change(value)
    #expect(log.entries == Self.expected)
    observation.cancel()
    #expect(Engine.destroy(queue: queue) == .ok)
  }

  @MainActor final class Label { var text = "" }

  @Test @MainActor func `on the main actor, an observer uses what belongs to that`() async {
    let (value, label) = (ConcurrentKVO(0), Label())
    let (told, toldWithActor) = (Gate("the change"), Gate("the change, with the actor"))
    // As in the guide.
    let observation = value.observe(.latest, on: MainActor.shared) { change in
      label.text = "\(change.new)"
      told.pass()
    }
    let another = value.observe(on: MainActor.shared) { _, _ in toldWithActor.pass() }
    value.value = 105
    while told.passed == 0 || toldWithActor.passed == 0 { await Task.yield() }
    #expect(label.text == "105")
    withExtendedLifetime((observation, another)) {}
  }

  @Test func `on an actor, an observer is isolated to it and told everything in order`() async {
    let value = ConcurrentKVO(0)
    let place = Place()
    let last = Gate("the last change")
    let observation = value.observe(.initial, on: place) { place, change in
      place.note(change.text)
      if change.new == 200 { last.pass() }
    }
    for number in 1...200 { value.value = number }
    for await number in value.values() where number == 200 { break }
    while last.passed == 0 { await Task.yield() }
    #expect(await place.log == Self.expected)
    observation.cancel()
    value.value = 201
    #expect(await place.log == Self.expected)
  }

  final class OwnExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "executor")
    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  @Test func `on a task executor, an observer is told everything in order`() {
    let value = ConcurrentKVO(0)
    let log = Log<String>()
    let observation = value.observe(.initial, on: .executor(OwnExecutor())) { log.add($0.text) }
    change(value)
    #expect(log.entries == Self.expected)
    withExtendedLifetime(observation) {}
  }

  @Test func `what waits in a mailbox is joined for one who wants the latest only`() {
    let value = ConcurrentKVO(0)
    let log = Log<String>()
    let looks = Log<@Sendable () -> Void>()
    let observation = value.observe(.latest, on: .scheduled { looks.add($0) }) {
      log.add($0.text)
    }
    for number in 1...200 { value.value = number }
    #expect(looks.entries.count == 1)
    looks.entries[0]()
    value.value = 201
    looks.entries[1]()
    // One look too many finds nothing.
    looks.entries[1]()
    #expect(log.entries == ["0>200", "200>201"])
    withExtendedLifetime(observation) {}
  }

  @Test func `after its cancel an observer elsewhere is not called with what waits`() {
    let value = ConcurrentKVO(0)
    let told = Gate("a change")
    let looks = Log<@Sendable () -> Void>()
    let observation = value.observe(on: .scheduled { looks.add($0) }) { _ in told.pass() }
    value.value = 1
    observation.cancel()
    looks.entries[0]()
    #expect(told.passed == 0)
    #expect(value.drain(timeout: .zero))
  }

  @Test func `a run-away loop of sets is reported once, by the value's label`() async {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let value = ConcurrentKVO(0, label: "loop")
      let observation = value.observe { change in
        if change.new > 0 { value.value = change.new - 1 }
      }
      value.value = 998  // one change fewer than are reported
      precondition(value.value == 0)
      value.value = 5000
      precondition(value.value == 0)
      withExtendedLifetime(observation) {}
    }
    let lines = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      .split(separator: "\n").filter { $0.contains("value \"loop\" was changed 1000 times") }
    #expect(lines.count == 1)
  }

  private struct Labelled {
    @ConcurrentKVO(label: "wrapped") var number = 0
    @KVOCompliantValue(label: "wrapped, too") var other = 0
  }

  @Test func `a wrapped value may have a label, which reports name`() async {
    Reports.begin()
    let values = Labelled()
    for value in [values.$number, values.$other] {
      let observation = value.observe { change in
        if change.new > 0 { value.value = change.new - 1 }
      }
      value.value = 1000
      withExtendedLifetime(observation) {}
    }
    for label in ["wrapped", "wrapped, too"] {
      #expect(await Reports.told("value \"\(label)\"").count == 1)
    }
  }

  @Test func `drain is refused inside an observer, and otherwise waits for all`() {
    let value = ConcurrentKVO(0)
    let results = Log<Bool>()
    let observation = value.observe { _ in results.add(value.drain()) }
    value.value = 1
    #expect(results.entries == [false])
    #expect(value.drain())
    withExtendedLifetime(observation) {}
  }
}
