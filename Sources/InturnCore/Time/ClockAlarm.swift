/// A moment on a clock at which somebody outside the engine is told.
package final class ClockAlarm: @unchecked Sendable {
  // Safe to share: the node is the clock's, whose lock protects it; the rest never changes.

  private let clock: Clock
  private let action: @Sendable () -> Void
  private let node = TimerNode.Pointer.make()

  /// `action` is called once, by the clock's thread or by who advances it, unless the alarm is
  /// cancelled before. It must be short.
  package init(
    on clock: Clock, afterNanoseconds delay: Int64, action: @escaping @Sendable () -> Void
  ) {
    self.clock = clock
    self.action = action
    clock.arm(node, at: clock.moment(after: max(0, delay)), for: .alarm(self))
  }

  // An armed node refers to the alarm, so this one is not.
  deinit { node.deallocate() }

  /// The action may still be called by a thread that is just about to.
  package func cancel() { clock.disarm(node) }

  func ring() { action() }
}
