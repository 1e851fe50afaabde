/// The differences between the kinds of queues, decided when a queue is created. Nothing else asks
/// for the kind, so a new kind is a new set of traits, plus whatever no other kind does.
struct LaneTraits: OptionSet, Hashable {
  let rawValue: UInt16

  /// An operation starts only after the one before it has ended. Without this trait and `limited`,
  /// any number may run.
  static let oneAtATime = LaneTraits(rawValue: 1 << 0)
  /// At most as many operations run as the queue's settings say; the number may change.
  static let limited = LaneTraits(rawValue: 1 << 1)
  /// Callbacks may overlap: several drainers at a time. Otherwise there is one.
  static let overlapping = LaneTraits(rawValue: 1 << 2)
  /// Plain operations may be started in bursts, without the lock.
  static let bursts = LaneTraits(rawValue: 1 << 3)
  /// A later operation may start before an earlier one: there are priorities.
  static let selective = LaneTraits(rawValue: 1 << 4)
  /// Low priorities that have waited for long go first once in a while.
  static let aging = LaneTraits(rawValue: 1 << 5)
  /// Blocked operations do not hold up those behind them.
  static let overtaking = LaneTraits(rawValue: 1 << 6)
  /// Operations may be barriers.
  static let barriers = LaneTraits(rawValue: 1 << 7)
  /// Operations may go on in segments, between which others start.
  static let segments = LaneTraits(rawValue: 1 << 8)
  /// Operations may be urgent; the running one is asked to give way, and may yield.
  static let urgency = LaneTraits(rawValue: 1 << 9)
  /// Operations are shown in a view, with delays between them.
  static let view = LaneTraits(rawValue: 1 << 10)
  /// A call of work may wait for anything, such as an end of the lane's own. Only with `oneAtATime`.
  static let longCalls = LaneTraits(rawValue: 1 << 11)

  /// Whether each such queue needs more than a lane's cache line.
  var haveSettings: Bool { !isDisjoint(with: [.limited, .selective]) }

  init(rawValue: UInt16) { self.rawValue = rawValue }

  /// For reports and snapshots: nothing is decided by it.
  var kind: QueueKind {
    if contains(.view) { return .interaction }
    if contains(.segments) { return .actor }
    return contains(.limited) ? .concurrent : .fifo
  }

  init(_ kind: QueueKind) {
    switch kind {
    case .fifo: self = [.oneAtATime, .bursts]
    case .actor: self = [.segments]
    case .interaction: self = [.oneAtATime, .selective, .urgency, .view]
    case .concurrent: self = [.limited, .overlapping, .selective, .aging, .overtaking, .barriers]
    }
  }
}
