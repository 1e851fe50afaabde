import Dispatch

/// Blocks threads until it is opened. It stays open.
package final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  package init() {}

  package func open() { semaphore.signal() }

  /// Blocks the thread until the gate is open. False if it was not opened within the limit.
  package func pass() -> Bool {
    if semaphore.wait(timeout: .now() + .seconds(Limit.seconds)) == .timedOut { return false }
    semaphore.signal()
    return true
  }
}

/// How long a test waits for what must happen.
package enum Limit {
  package static let seconds = 80
}
