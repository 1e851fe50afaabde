import AsyncOperation
import Foundation
import TestSupport
import Testing

/// Observing states without key-value observing.
@Suite(.watched) struct ObservingTests {
  @Test func `an observer is told the present state and then each change, once and in order`() {
    let operation = Subclass()
    let states = Log<String>()
    let observation = operation.observe { states.add($0) }
    #expect(states.entries == ["pending"])
    operation.start()
    #expect(states.entries == ["pending", "running"])
    operation.finish()
    #expect(states.entries == ["pending", "running", "finished"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an observer that comes late is told the last state only`() {
    let operation = Subclass { $0.finish() }
    operation.start()
    let states = Log<String>()
    let observation = operation.observe { states.add($0) }
    #expect(states.entries == ["finished"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an operation that never runs is never said to`() {
    let operation = Subclass()
    let states = Log<String>()
    let observation = operation.observe { states.add($0) }
    operation.cancel()
    operation.start()
    #expect(states.entries == ["pending", "cancelled(request)"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an observing ends when it is cancelled or let go of, and lets go of its handler`() {
    final class Captured: Sendable {}
    let operation = Subclass()
    let states = Log<String>()
    weak var captured: Captured?
    do {
      let object = Captured()
      captured = object
      let first = operation.observe { [object] state in
        withExtendedLifetime(object) { states.add("first \(state)") }
      }
      _ = operation.observe { states.add("second \($0)") }
      first.cancel()
      first.cancel()
    }
    #expect(captured == nil)
    operation.start()
    operation.finish()
    #expect(states.entries == ["first pending", "second pending"])
  }

  @Test func `an observer may call anything, also what changes the state that it is told of`() {
    let states = Log<String>()
    let operation = Subclass()
    let observation = operation.observe { [unowned operation] state in
      states.add("begin \(state)")
      // Begun during the first call, and ended during the second.
      if state == "pending" { operation.start() }
      if state == "running" { operation.finish() }
      _ = (operation.isFinished, operation.isReady, operation.dependencies, operation.state)
      operation.cancel()
      operation.onCancel {}
      states.add("end \(state)")
    }
    #expect(
      states.entries == [
        "begin pending", "end pending", "begin running", "end running", "begin finished",
        "end finished",
      ])
    withExtendedLifetime(observation) {}
  }

  @Test func `no lock is held while an observer, a cancel handler or Foundation is called`()
    async throws
  {
    for place in ["observer", "handler", "subclass"] {
      let inside = Signal()
      let gate = Gate()
      let stop: @Sendable (String) -> Void = { here in
        if here != place { return }
        inside.raise()
        #expect(gate.pass(), "the other thread's calls return")
      }
      let operation = Told(stop)
      operation.onCancel { stop("handler") }
      let observation = operation.observe { if $0 == "running" { stop("observer") } }
      Thread.detachNewThread {
        operation.start()
        operation.cancel()
        operation.finish()
      }
      #expect(await inside.wait())
      // Another thread can make every call on the operation while that one is inside.
      _ = (operation.isFinished, operation.isExecuting, operation.isCancelled, operation.isReady)
      _ = (operation.state, operation.end, operation.dependencies)
      operation.observe { _ in }.cancel()
      operation.onCancel {}
      operation.addDependency(Subclass())
      operation.cancel()
      operation.end(as: .cancelled)
      gate.open()
      _ = try await operation.endInTime()
      #expect(operation.isCancelled)
      withExtendedLifetime(observation) {}
    }
  }

  /// An operation that stops where Foundation asks for its state.
  private final class Told: AsyncOperation, @unchecked Sendable {
    // Safe to share: `stop` never changes.

    private let stop: @Sendable (String) -> Void

    init(_ stop: @escaping @Sendable (String) -> Void) { self.stop = stop }

    override func main() { stop("subclass") }
  }

  @Test func `its states are a sequence, none left out, however late it is read`() async {
    let operation = Subclass()
    let before = operation.observedState.values()
    operation.start()
    operation.finish()
    var states: [OperationState] = []
    for await state in before { states.append(state) }
    #expect(states == [.pending, .running, .ended])
    states = []
    for await state in operation.observedState.values() { states.append(state) }
    #expect(states == [.ended])
  }

  @Test func `waitForEnd gives the end, also when the waiting task is cancelled`() async {
    let operation = Subclass()
    operation.start()
    let waiting = (0..<2).map { _ in Task { await operation.waitForEnd().text } }
    waiting[1].cancel()
    #expect(operation.isExecuting && !operation.isCancelled)
    operation.end(as: .failed(Failure(number: 3)))
    for task in waiting { #expect(await task.value == "failed(3)") }
  }

  @Test func `observers on many threads see the states in order while they change`() async throws {
    for _ in 0..<scaled(300) {
      let operation = Subclass { operation in
        DispatchQueue.global().async { operation.finish() }
      }
      let logs = (0..<4).map { _ in Log<String>() }
      let added = Signal(count: 4)
      let observations = Log<ValueObservation>()
      for log in logs {
        DispatchQueue.global().async {
          observations.add(operation.observe { log.add($0) })
          added.raise()
        }
      }
      operation.start()
      #expect(await added.wait())
      _ = try await operation.endInTime()
      let all = ["pending", "running", "finished"]
      for log in logs {
        // The thread that ends the operation may still be calling observers.
        let observed = Signal()
        let last = operation.observe { _ in observed.raise() }
        #expect(await observed.wait())
        let entries = log.entries
        #expect(entries == all.filter(entries.contains), "a part of all, in their order")
        withExtendedLifetime(last) {}
      }
    }
  }
}
