import Synchronization

/// What keeps a lane from being quiet besides its operations, and who waits until it is.
struct Quiet: ~Copyable {
  /// Calls that are under way without a drainer: cut-off work, cancel handlers.
  var outside: UInt32 = 0
  /// Threads that sleep until the lane is quiet.
  var waiters: UInt32 = 0
  /// A thread that destroys the queue waits for its calls, and delivers what is left itself.
  var isBeingDestroyed = false
  /// Changes when a waiter must look again.
  let wakeups = Atomic<UInt32>(0)
  /// What is called once when the lane is quiet.
  private var calls: [@Sendable () -> Void] = []

  /// Whether somebody waits for it, asleep or not.
  var isAwaited: Bool { waiters > 0 || !calls.isEmpty }

  mutating func add(_ call: @escaping @Sendable () -> Void) { calls.append(call) }

  /// The calls that are due, for who makes them.
  mutating func takeCalls() -> [@Sendable () -> Void] {
    defer { calls = [] }
    return calls
  }
}
