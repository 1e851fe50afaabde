import Inturn

/// What the library reports while the tests run.
///
/// A process has one report handler, which all tests share: each looks for its own operations' names.
package enum Reports {
  private struct State {
    var reports: [Report] = []
    var waiters: [Waiter] = []
  }

  private struct Waiter {
    let text: String
    let count: Int
    let signal: Signal
  }

  private static let state = {
    let state = Protected(State())
    Report.setHandler { report in
      let ready = state.withLock { state in
        state.reports.append(report)
        let ready = state.waiters.filter { state.reports.about($0.text).count >= $0.count }
        state.waiters.removeAll { state.reports.about($0.text).count >= $0.count }
        return ready
      }
      for waiter in ready { waiter.signal.raise() }
    }
    return state
  }()

  /// Has to be called before what is to be reported.
  package static func begin() { _ = state }

  /// The reports about something so far.
  package static func about(_ text: String) -> [Report] {
    state.withLock { $0.reports.about(text) }
  }

  /// Waits for this many reports about something, and returns all of them; fewer if the limit passes. A
  /// report comes after the end that it is about, so another thread may know of the end first.
  package static func told(_ text: String, count: Int = 1) async -> [Report] {
    let signal = Signal()
    let isTold = state.withLock { state in
      if state.reports.about(text).count >= count { return true }
      state.waiters.append(Waiter(text: text, count: count, signal: signal))
      return false
    }
    if !isTold { _ = await signal.wait() }
    return about(text)
  }
}

extension [Report] {
  fileprivate func about(_ text: String) -> Self { filter { $0.message.contains(text) } }
}
