import Synchronization

/// What keeps a lane from being quiet besides its operations, and who waits for quiet.
struct Quiet: ~Copyable {
  /// Calls under way without a drainer: cut-off work, cancel handlers.
  var outside: UInt32 = 0
  /// Threads that sleep until the lane is quiet.
  var waiters: UInt32 = 0
  /// Whether a thread that destroys the queue waits for its calls and will deliver the rest itself.
  var isBeingDestroyed = false
  /// Changes when waiters have to look again.
  let wakeups = Atomic<UInt32>(0)
  /// Called once, when the lane is quiet.
  private var calls: [@Sendable () -> Void] = []

  mutating func add(_ call: @escaping @Sendable () -> Void) { calls.append(call) }

  /// Takes out the calls that are due; the caller makes them.
  mutating func takeCalls() -> [@Sendable () -> Void] {
    defer { calls = [] }
    return calls
  }
}
