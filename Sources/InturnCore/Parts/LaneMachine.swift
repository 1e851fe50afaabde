/// A lane's decisions, as a value: whether an operation may start, and whether the lane needs a
/// drainer. The lane asks under its lock and acts on the answers afterwards.
///
/// A drainer is a turn of an executor: *scheduled* while it waits there, *active* while it is in
/// the lane. While it calls work, it is active as well, unless the lane has long calls. Invariants,
/// tested for every reachable state:
///
/// - when something can be done, a drainer is scheduled or active;
/// - no more operations run than the limit, and no more drainers exist than can be of use;
/// - a suspended, held or destroyed lane starts nothing, and one with an open offer starts nothing
///   else.
struct LaneMachine: Hashable {
  struct Flags: OptionSet, Hashable {
    let rawValue: UInt16
    /// Accepts no more operations.
    static let closed = Flags(rawValue: 1 << 0)
    /// At least one suspend is in force.
    static let suspended = Flags(rawValue: 1 << 1)
    /// Its pace allows no start before some moment, or before its view appears.
    static let held = Flags(rawValue: 1 << 2)
    /// Its queue is gone; the rest is being cleared away.
    static let destroyed = Flags(rawValue: 1 << 3)
    /// Ends wait to be delivered.
    static let hasDeliveries = Flags(rawValue: 1 << 4)
    /// The drainer is in a burst: it starts operations without the lock.
    static let bursting = Flags(rawValue: 1 << 5)
    /// Somebody waits until nothing is left to do, and may sleep.
    static let waitedFor = Flags(rawValue: 1 << 6)
    /// An observer is told its events.
    static let isObserved = Flags(rawValue: 1 << 9)
    /// The operation whose turn it is has to wait, and all others with it.
    static let headBlocked = Flags(rawValue: 1 << 8)
    /// Its states are observed as values.
    static let watched = Flags(rawValue: 1 << 10)
    /// Its rate of starts is limited.
    static let rated = Flags(rawValue: 1 << 7)
    /// The next operation is offered and not yet claimed: nothing else starts.
    static let offered = Flags(rawValue: 1 << 11)
    /// The watchdog does not look at it: whoever gives it something to do has the watchdog begin.
    static let unattended = Flags(rawValue: 1 << 12)
    /// The recorder is on, or was when somebody last looked.
    static let recorded = Flags(rawValue: 1 << 13)
    /// The recorder was on: it may have records of the lane, and no name.
    static let wasRecorded = Flags(rawValue: 1 << 14)
    /// A call of an actor's that was cut off keeps the others from starting.
    static let occupied = Flags(rawValue: 1 << 15)
  }

  var flags: Flags = []
  var scheduled: UInt16 = 0
  var active: UInt16 = 0
  let traits: LaneTraits
  /// Started operations that still have their places.
  var running: UInt32 = 0

  init(_ traits: LaneTraits) { self.traits = traits }

  /// What the machine has to know about the rest of the lane.
  struct View {
    /// Whether the buffer has jobs.
    var hasJobs: Bool
    /// How many operations may run at a time.
    var limit: UInt32
  }

  enum Next: Equatable { case deliver, start, leave }

  /// Whether starts are counted one by one, under the lock.
  @inline(__always)
  var countsStarts: Bool { !flags.isDisjoint(with: [.watched, .rated]) }

  private static var stopped: Flags {
    [.suspended, .held, .destroyed, .headBlocked, .offered, .occupied]
  }

  @inline(__always)
  func canStart(_ view: View) -> Bool {
    view.hasJobs && running < view.limit && flags.isDisjoint(with: Self.stopped)
  }

  /// Whether an active drainer of a limited lane may go straight on with an operation at hand.
  @inline(__always)
  func canStartNext(limit: UInt32) -> Bool {
    traits.contains(.limited) && running < limit && goesStraightOn
  }

  /// Whether an active drainer has nothing to do but start operations.
  @inline(__always)
  var goesStraightOn: Bool {
    flags.isDisjoint(with: Self.stopped.union(.hasDeliveries))
  }

  /// What an active drainer does next. Where callbacks must not overlap, one that has returned from a
  /// long call leaves everything to another that has come meanwhile.
  @inline(__always)
  func nextOfDrainer(_ view: View) -> Next {
    active > 1 && !traits.contains(.overlapping) ? .leave : next(view)
  }

  /// What is to be done next. Ends come before starts.
  @inline(__always)
  func next(_ view: View) -> Next {
    if flags.contains(.destroyed) { return .leave }
    if flags.contains(.hasDeliveries) { return .deliver }
    return canStart(view) ? .start : .leave
  }

  /// A lane whose callbacks must not overlap has a single drainer. An overlapping one has one more
  /// than its limit, so that ends are delivered while all places are taken.
  @inline(__always)
  func maximumDrainers(_ view: View) -> UInt32 {
    traits.contains(.overlapping) ? min(view.limit, 60_000) + 1 : 1
  }

  /// Asks for a drainer if one is of use. When true, the caller submits the lane.
  @inline(__always)
  mutating func askForDrainer(_ view: @autoclosure () -> View) -> Bool {
    let drainers = UInt32(active) + UInt32(scheduled)
    // The common case, in which the buffer need not be examined.
    if drainers > 0 && !traits.contains(.overlapping) { return false }
    let view = view()
    if next(view) == .leave || drainers >= maximumDrainers(view) { return false }
    scheduled += 1
    return true
  }

  mutating func drainerArrives() {
    scheduled -= 1
    active += 1
  }

  /// The drainer has used up its turn and is scheduled again.
  mutating func drainerGoesBack() {
    active -= 1
    scheduled += 1
  }

  mutating func drainerLeaves() { active -= 1 }

  /// The drainer makes a long call, for the operation that runs.
  mutating func drainerCalls() { active -= 1 }

  mutating func drainerReturns() { active += 1 }

  @inline(__always)
  mutating func start() { running += 1 }

  @inline(__always)
  mutating func release() { running -= 1 }

  mutating func set(_ flag: Flags, _ isSet: Bool) {
    if isSet { flags.insert(flag) } else { flags.remove(flag) }
  }
}
