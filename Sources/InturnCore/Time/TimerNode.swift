/// A timer that its owner holds: armed on a clock, or not.
///
/// The clock's lock protects it. Firing takes `owner` out under that lock and uses the node no more,
/// so that the node may go away once `Clock.disarm` has returned.
struct TimerNode {
  typealias Pointer = UnsafeMutablePointer<TimerNode>

  var deadline: Int64 = 0
  /// Timers of one deadline fire in the order in which they were armed.
  var order: UInt64 = 0
  /// Where the clock's heap has it; `inRun` when it is not the first of its run.
  var position = unarmed
  static let unarmed = -1
  static let inRun = -2
  /// In its run.
  var previous: Pointer?
  var next: Pointer?
  var owner = Owner.nobody

  var isArmed: Bool { position != Self.unarmed }

  /// Who is told. Slots and lanes have a generation, because they may be gone when it fires.
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

  /// Frees a node that `Clock.disarm` has been called with since it was armed last, or that never was.
  func giveUp() {
    assert(!pointee.isArmed, "a clock still has the timer that is given up")
    deallocate()
  }
}
