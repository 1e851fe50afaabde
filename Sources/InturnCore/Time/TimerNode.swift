/// A timer that its owner holds: armed on a clock, or not.
///
/// The clock's lock protects it. Firing takes `owner` out under that lock and then no longer uses
/// the node, so the node may be freed once `Clock.disarm` has returned.
struct TimerNode {
  typealias Pointer = UnsafeMutablePointer<TimerNode>

  var deadline: Int64 = 0
  /// Timers with the same deadline fire in the order in which they were armed.
  var order: UInt64 = 0
  /// Its position in the clock's heap; `inRun` when it is not the first of its run.
  var position = unarmed
  static let unarmed = -1
  static let inRun = -2
  /// Links in its run.
  var previous: Pointer?
  var next: Pointer?
  var owner = Owner.nobody

  var isArmed: Bool { position != Self.unarmed }

  /// Who is told. Slots and lanes come with a generation, as they may be gone when the timer fires.
  enum Owner {
    case nobody
    case operation(OperationSlot.Pointer, generation: UInt32, of: Lane.Pointer)
    case lane(Lane.Pointer, generation: UInt32)
    case pool(WorkerPool)
    case alarm(ClockAlarm)
    case clock(Clock)
    case watchdog(Watchdog)
  }
}

extension UnsafeMutablePointer<TimerNode> {
  static func make() -> Self {
    let node = Self.allocate(capacity: 1)
    node.initialize(to: TimerNode())
    return node
  }

  /// Frees a node that was never armed, or was disarmed with `Clock.disarm` since.
  func giveUp() {
    assert(!pointee.isArmed, "a clock still has the timer that is given up")
    deallocate()
  }
}
