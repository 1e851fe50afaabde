import AsyncOperation
import ConcurrentKVO
import TestSupport
import Testing

/// An operation's state, observed as any value is.
@Suite(.watched) struct ObservedStateTests {
  @Test func `each change is told with the state before`() {
    let operation = Subclass()
    let states = Log<String>()
    let observation = operation.observedState.observe(.initial) { change in
      states.add((change.old.map { $0.text + " > " } ?? "") + change.new.text)
    }
    operation.start()
    operation.finish()
    #expect(states.entries == ["pending", "pending > running", "running > finished"])
    #expect(operation.observedState.value.text == "finished")
    withExtendedLifetime(observation) {}
  }

  @Test func `it outlives the operation, and its sequence ends`() async {
    var operation: Subclass? = Subclass { $0.finish() }
    let state = operation!.observedState
    operation?.start()
    operation = nil
    var seen: [String] = []
    for await state in state.values() { seen.append(state.text) }
    #expect(seen == ["finished"])
    #expect(state.wait { if case .ended = $0 { true } else { false } } != nil)
    #expect(state.wait { if case .pending = $0 { true } else { false } } == nil)
  }

  @Test func `asked for by many threads at once, it is one`() async {
    for _ in 0..<100 {
      let operation = Subclass { $0.finish() }
      let all = await withTaskGroup(of: ObservedState<AsyncOperation.State>.self) { group in
        for _ in 0..<4 { group.addTask { operation.observedState } }
        group.addTask {
          operation.start()
          return operation.observedState
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(all.allSatisfy { $0 === operation.observedState })
      #expect(operation.observedState.value.text == "finished")
    }
  }
}
