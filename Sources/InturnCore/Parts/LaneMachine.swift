/// What a lane decides, as a value: whether an operation may start, and whether somebody must come
/// and drain the lane. Its lane asks it under the lane's lock and acts on the answers afterwards.
///
/// A drainer is a turn of an executor: *scheduled* while it waits there, *active* while it is in
/// the lane. What is to be upheld, and tested for every reachable state:
///
/// - when something can be done, a drainer is scheduled or active;
/// - no more operations run than the limit, and no more drainers exist than can be of use;
/// - a suspended, held or destroyed lane starts nothing, and one that has made an offer nothing else.
struct LaneMachine: Hashable {
  struct Flags: OptionSet, Hashable {
    let rawValue: UInt16
    /// Accepts no more operations.
    static let closed = Flags(rawValue: 1 << 0)
    /// At least one suspend is in force.
    static let suspended = Flags(rawValue: 1 << 1)
    /// Its pace lets nothing start before a moment, or before its view appears.
    static let held = Flags(rawValue: 1 << 2)
    /// Its queue is gone; what is left of it is being cleared away.
    static let destroyed = Flags(rawValue: 1 << 3)
    /// Ends wait to be delivered.
    static let hasDeliveries = Flags(rawValue: 1 << 4)
    /// The drainer is in a burst: it starts operations without the lock.
    static let bursting = Flags(rawValue: 1 << 5)
    /// Somebody sleeps until nothing is left.
    static let waitedFor = Flags(rawValue: 1 << 6)
    /// Somebody is told its events.
    static let isObserved = Flags(rawValue: 1 << 9)
    /// The operation whose turn it is waits for something, and all of them with it.
    static let headBlocked = Flags(rawValue: 1 << 8)
    /// States of it are told as values.
    static let watched = Flags(rawValue: 1 << 10)
    /// There is a rate of starts.
    static let rated = Flags(rawValue: 1 << 7)
    /// The next operation is offered, and nobody has claimed it: nothing else starts.
    static let offered = Flags(rawValue: 1 << 11)
    /// Nobody looks whether it stands still: who gives it something to do has the watchdog begin.
    static let unattended = Flags(rawValue: 1 << 12)
  }

  var flags: Flags = []
  var scheduled: UInt16 = 0
  var active: UInt16 = 0
  let traits: LaneTraits
  /// Started operations whose place has not been released.
  var running: UInt32 = 0

  init(_ traits: LaneTraits) { self.traits = traits }

  /// What the lane looks like from outside the machine.
  struct View {
    /// Whether the buffer has jobs.
    var hasJobs: Bool
    /// How many operations may run at a time.
    var limit: UInt32
  }

  enum Next: Equatable { case deliver, start, leave }

  /// Whether each start is counted, and made under the lock.
  @inline(__always)
  var countsStarts: Bool { !flags.isDisjoint(with: [.watched, .rated]) }

  private static var stopped: Flags { [.suspended, .held, .destroyed, .headBlocked, .offered] }

  @inline(__always)
  func canStart(_ view: View) -> Bool {
    view.hasJobs && running < view.limit && flags.isDisjoint(with: Self.stopped)
  }

  /// Whether an active drainer of a limited lane may go straight on with an operation that it has
  /// at hand.
  @inline(__always)
  func canStartNext(limit: UInt32) -> Bool {
    traits.contains(.limited) && running < limit && goesStraightOn
  }

  /// Whether an active drainer has nothing to look after but what can be started.
  @inline(__always)
  var goesStraightOn: Bool {
    flags.isDisjoint(with: Self.stopped.union(.hasDeliveries))
  }

  /// What an active drainer does next. Ends come before starts.
  @inline(__always)
  func next(_ view: View) -> Next {
    if flags.contains(.destroyed) { return .leave }
    if flags.contains(.hasDeliveries) { return .deliver }
    return canStart(view) ? .start : .leave
  }

  /// Callbacks that are not to overlap have one drainer. An overlapping lane has one more than its
  /// limit, so that ends are delivered while all places are taken.
  @inline(__always)
  func maximumDrainers(_ view: View) -> UInt32 {
    traits.contains(.overlapping) ? min(view.limit, 60_000) + 1 : 1
  }

  /// Asks for a drainer where one is of use. True: the caller submits the lane.
  @inline(__always)
  mutating func askForDrainer(_ view: @autoclosure () -> View) -> Bool {
    let drainers = UInt32(active) + UInt32(scheduled)
    // The common case, for which the buffer need not be looked at.
    if drainers > 0 && !traits.contains(.overlapping) { return false }
    let view = view()
    if next(view) == .leave || drainers >= maximumDrainers(view) { return false }
    scheduled += 1
    return true
  }

  /// Asks for another drainer before this one calls work, on a lane that may have several.
  mutating func askForDrainerBeforeCall(_ view: @autoclosure () -> View) -> Bool {
    traits.contains(.overlapping) && askForDrainer(view())
  }

  mutating func drainerArrives() {
    scheduled -= 1
    active += 1
  }

  /// The drainer has used up its turn: it is scheduled again.
  mutating func drainerGoesBack() {
    active -= 1
    scheduled += 1
  }

  mutating func drainerLeaves() { active -= 1 }

  @inline(__always)
  mutating func start() { running += 1 }

  @inline(__always)
  mutating func release() { running -= 1 }

  mutating func set(_ flag: Flags, _ isSet: Bool) {
    if isSet { flags.insert(flag) } else { flags.remove(flag) }
  }
}
