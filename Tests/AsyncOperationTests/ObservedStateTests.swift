import AsyncOperation
import ConcurrentKVO
import Foundation
import TestSupport
import Testing

/// An operation's state, observed like any value.
@Suite(.watched) struct ObservedStateTests {
  @Test func `each change is told with the state before`() {
    let operation = Subclass()
    let states = Log<String>()
    let observation = operation.observedState.observe(.initial) { change in
      states.add((change.old.map { "\($0) > " } ?? "") + "\(change.new)")
    }
    operation.start()
    operation.finish()
    #expect(states.entries == ["pending", "pending > running", "running > ended"])
    #expect(operation.observedState.value == .ended)
    withExtendedLifetime(observation) {}
  }

  /// What Foundation asks at each change of what it depends on.
  private final class Dependent: Operation, @unchecked Sendable {
    // Safe to share: they never change.
    let dependency: Subclass
    let states = Log<OperationState>()

    init(on dependency: Subclass) {
      self.dependency = dependency
      super.init()
      addDependency(dependency)
    }

    override var isReady: Bool {
      if dependency.isFinished { states.add(dependency.observedState.value) }
      return super.isReady
    }
  }

  @Test func `whom Foundation tells that the operation has finished sees that it has ended`() {
    let operation = Subclass { $0.finish() }
    let dependent = Dependent(on: operation)
    #expect(operation.observedState.value == .pending)
    operation.start()
    #expect(dependent.isReady)
    #expect(Set(dependent.states.entries) == [.ended])
  }

  @Test func `it outlives the operation, and its sequence ends`() async {
    var operation: Subclass? = Subclass { $0.finish() }
    let state = operation!.observedState
    operation?.start()
    operation = nil
    var seen: [OperationState] = []
    for await state in state.values() { seen.append(state) }
    #expect(seen == [.ended])
    #expect(state.wait { $0 == .ended } != nil)
    #expect(state.wait { $0 == .pending } == nil)
  }

  @Test func `when the operation goes away without an end, its state's sequence and waits end`()
    async
  {
    var operation: Subclass? = Subclass()
    let (state, other) = (operation!.observedState, Subclass().observedState)
    operation = nil
    let ended = Signal()
    Task {
      var seen: [OperationState] = []
      for await state in state.values() { seen.append(state) }
      #expect(seen == [.pending])
      ended.raise()
    }
    #expect(await ended.wait())
    #expect(other.wait(timeout: .seconds(20)) { $0 == .ended } == nil)
    #expect(other.value == .pending)
  }

  @Test func `asked for by many threads at once, it is one`() async {
    for _ in 0..<100 {
      let operation = Subclass { $0.finish() }
      let all = await withTaskGroup(of: ObservedState<OperationState>.self) { group in
        for _ in 0..<4 {
          group.addTask {
            let wasFinished = operation.isFinished
            let state = operation.observedState
            #expect(!wasFinished || state.value == .ended)
            return state
          }
        }
        group.addTask {
          operation.start()
          return operation.observedState
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(all.allSatisfy { $0 === operation.observedState })
      #expect(operation.observedState.value == .ended)
    }
  }
}
