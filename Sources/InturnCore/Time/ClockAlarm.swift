/// Calls back outside the engine at a moment on a clock.
package final class ClockAlarm: @unchecked Sendable {
  // Safe to share: the clock's lock protects the node, and the rest never changes.

  private let clock: Clock
  private let action: @Sendable () -> Void
  private let node = TimerNode.Pointer.make()

  /// `action` is called once, on the clock's thread or the one that advances it, unless the alarm
  /// is cancelled before. It must be short.
  package init(
    on clock: Clock, afterNanoseconds delay: Int64, action: @escaping @Sendable () -> Void
  ) {
    self.clock = clock
    self.action = action
    clock.arm(node, at: clock.moment(after: max(0, delay)), for: .alarm(self))
  }

  // An armed node retains the alarm, so this one is not armed.
  deinit { node.deallocate() }

  /// The action may still be called by a thread that has begun to fire it.
  package func cancel() { clock.disarm(node) }

  func ring() { action() }
}
