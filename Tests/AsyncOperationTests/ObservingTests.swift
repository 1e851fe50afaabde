import AsyncOperation
import Foundation
import TestSupport
import Testing

/// Observing states without key-value observing.
@Suite(.watched) struct ObservingTests {
  @Test func `an observer is told the present state and then each change, once and in order`() {
    let operation = Subclass()
    let states = Log<String>()
    let observation = operation.observeState { states.add($0.text) }
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
    let observation = operation.observeState { states.add($0.text) }
    #expect(states.entries == ["finished"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an operation that never runs is never said to`() {
    let operation = Subclass()
    let states = Log<String>()
    let observation = operation.observeState { states.add($0.text) }
    operation.cancel()
    operation.start()
    #expect(states.entries == ["pending", "cancelled"])
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
      let first = operation.observeState { [object] state in
        withExtendedLifetime(object) { states.add("first \(state.text)") }
      }
      _ = operation.observeState { states.add("second \($0.text)") }
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
    let observation = operation.observeState { [unowned operation] state in
      states.add("begin \(state.text)")
      // Begun inside of the first call, ended inside of the second.
      if case .pending = state { operation.start() }
      if case .running = state { operation.finish() }
      _ = (operation.isFinished, operation.isReady, operation.dependencies, operation.state)
      operation.cancel()
      operation.onCancel {}
      states.add("end \(state.text)")
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
      let observation = operation.observeState { state in
        if case .running = state { stop("observer") }
      }
      Thread.detachNewThread {
        operation.start()
        operation.cancel()
        operation.finish()
      }
      #expect(await inside.wait())
      // All that has to do with the operation, from another thread, while that one stands inside.
      _ = (operation.isFinished, operation.isExecuting, operation.isCancelled, operation.isReady)
      _ = (operation.state, operation.end, operation.dependencies)
      operation.observeState { _ in }.cancel()
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

  /// An operation that stops where Foundation asks it for its state.
  private final class Told: AsyncOperation, @unchecked Sendable {
    // Safe to share: `stop` is not changed.

    private let stop: @Sendable (String) -> Void

    init(_ stop: @escaping @Sendable (String) -> Void) { self.stop = stop }

    override func main() { stop("subclass") }
  }

  @Test func `states is a sequence of all states, however late it is read`() async {
    let operation = Subclass()
    let before = operation.states
    operation.start()
    operation.finish()
    var texts: [String] = []
    for await state in before { texts.append(state.text) }
    #expect(texts == ["pending", "running", "finished"])
    texts = []
    for await state in operation.states { texts.append(state.text) }
    #expect(texts == ["finished"])
  }

  @Test func `waitForEnd returns the end, and throws when the waiting task is cancelled`()
    async throws
  {
    let operation = Subclass()
    operation.start()
    let waiting = Task { try await operation.waitForEnd().text }
    let cancelled = Task { try await operation.waitForEnd().text }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    #expect(operation.isExecuting && !operation.isCancelled)
    operation.end(as: .failed(Failure(number: 3)))
    #expect(try await waiting.value == "failed(3)")
  }

  @Test func `observers on many threads see the states in order while they change`() async throws {
    for _ in 0..<scaled(300) {
      let operation = Subclass { operation in
        DispatchQueue.global().async { operation.finish() }
      }
      let logs = (0..<4).map { _ in Log<String>() }
      let added = Signal(count: 4)
      let observations = Log<StateObservation>()
      for log in logs {
        DispatchQueue.global().async {
          observations.add(operation.observeState { log.add($0.text) })
          added.raise()
        }
      }
      operation.start()
      #expect(await added.wait())
      _ = try await operation.endInTime()
      let all = ["pending", "running", "finished"]
      for log in logs {
        // The thread that ends the operation may still be telling.
        let observed = Signal()
        let last = operation.observeState { _ in observed.raise() }
        #expect(await observed.wait())
        let entries = log.entries
        #expect(entries == all.filter(entries.contains), "a part of all, in their order")
        withExtendedLifetime(last) {}
      }
    }
  }
}
