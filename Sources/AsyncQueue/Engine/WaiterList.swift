/// Tasks that wait for something of a queue, in order. Its user's lock protects it.
struct WaiterList {
  /// One that waits; it is resumed once.
  final class Waiter: @unchecked Sendable {
    // Safe to share: the list's lock protects it.
    fileprivate var continuation: UnsafeContinuation<Void, Never>?
    /// Whether it need not begin to wait, or wait any more.
    fileprivate(set) var isDone = false
  }

  private var waiters: [Waiter] = []
  private var first = 0

  var isEmpty: Bool { first == waiters.count }

  /// Adds one. False when it is done already.
  mutating func add(_ waiter: Waiter, _ continuation: UnsafeContinuation<Void, Never>) -> Bool {
    if waiter.isDone { return false }
    waiter.continuation = continuation
    waiters.append(waiter)
    return true
  }

  /// What resumes the first one, or nil.
  mutating func popFirst() -> UnsafeContinuation<Void, Never>? {
    while first < waiters.count {
      let waiter = waiters[first]
      first += 1
      if first == waiters.count {
        waiters.removeAll(keepingCapacity: true)
        first = 0
      }
      if let continuation = finish(waiter) { return continuation }
    }
    return nil
  }

  /// What resumes all of them.
  mutating func popAll() -> [UnsafeContinuation<Void, Never>] {
    var all: [UnsafeContinuation<Void, Never>] = []
    while let continuation = popFirst() { all.append(continuation) }
    return all
  }

  /// Ends one's wait, wherever it is.
  mutating func finish(_ waiter: Waiter) -> UnsafeContinuation<Void, Never>? {
    waiter.isDone = true
    let continuation = waiter.continuation
    waiter.continuation = nil
    return continuation
  }
}
