import Dispatch

/// Something that a test waits for without blocking a thread: a number of calls of `raise()`.
package final class Signal: Sendable {
  private struct State {
    var missing: Int
    var waiters: [CheckedContinuation<Bool, Never>] = []
  }

  private let state: Protected<State>

  package init(count: Int = 1) { state = Protected(State(missing: count)) }

  package func raise() {
    let waiters = state.withLock { state in
      state.missing -= 1
      if state.missing > 0 { return [CheckedContinuation<Bool, Never>]() }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: true) }
  }

  /// How many calls are missing; negative if there were too many.
  package var missing: Int { state.withLock { $0.missing } }

  /// Waits for the last call. False if it does not come within the limit.
  package func wait() async -> Bool {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.missing <= 0 { return true }
        state.waiters.append(continuation)
        return false
      }
      if isThere { return continuation.resume(returning: true) }
      DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Limit.seconds)) {
        self.giveUp()
      }
    }
  }

  private func giveUp() {
    let waiters = state.withLock { state in
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: false) }
  }
}
