/// The state of an operation slot as one value: a generation and a set of flags.
///
/// A slot holds it in one atomic, and every change is one atomic operation. The functions here
/// compute the word that follows from each event; `OperationSlot` stores it.
///
///     pending ──start──▶ started ──the work's call returns──▶ started, returned
///        │                  │                                   │
///        └──────claim───────┴──────────────claim────────────────┘
///                           ▼
///               claimed ──the end's data is written──▶ ended
///
/// Whoever sets the second of `returned` and `ended` carries on the queue. With `restarting`, an
/// attempt ends in the same way; the next one is pending again, with the next generation.
struct OperationWord: Equatable {
  var bits: UInt64

  struct Flags: OptionSet {
    let rawValue: UInt32
    /// The work has been called.
    static let started = Flags(rawValue: 1 << 0)
    /// That call has returned; whoever ends the operation from now on carries on the queue.
    static let returned = Flags(rawValue: 1 << 1)
    /// The outcome is decided: the first to set it wins.
    static let claimed = Flags(rawValue: 1 << 2)
    /// The end's data can be read.
    static let ended = Flags(rawValue: 1 << 3)
    /// The operation was asked to end.
    static let cancelRequested = Flags(rawValue: 1 << 4)
    /// On a gate: the drainer has to take the lock before it starts the next operation.
    static let attention = Flags(rawValue: 1 << 5)
    /// Somebody holds the operation's handle.
    static let handleHeld = Flags(rawValue: 1 << 6)
    /// Ended by a deadline, but keeps its place until the token is finished.
    static let placeHeld = Flags(rawValue: 1 << 7)
    /// It has options or a handle: the end has data that somebody may read.
    static let observed = Flags(rawValue: 1 << 8)
    /// Some thread sleeps until it has ended.
    static let waitedFor = Flags(rawValue: 1 << 9)
    /// The engine has ended it, rather than its token.
    static let cutOff = Flags(rawValue: 1 << 11)
    /// The queue has its own clock.
    static let ownClock = Flags(rawValue: 1 << 12)
    /// The slot is a segment of another operation.
    static let segment = Flags(rawValue: 1 << 10)
    /// It has a retry policy.
    static let retries = Flags(rawValue: 1 << 13)
    /// An attempt is over, which may not be the operation's end.
    static let restarting = Flags(rawValue: 1 << 14)
    /// It is not the first attempt: the handle has another generation.
    static let reattempted = Flags(rawValue: 1 << 15)
    /// Its state is observed as a value.
    static let watched = Flags(rawValue: 1 << 24)
    /// Somebody waits for its end and need not be woken.
    static let awaited = Flags(rawValue: 1 << 25)
    /// A task has the token of this attempt.
    static let isTask = Flags(rawValue: 1 << 26)

    /// Flags that others may set and that make no difference to how it ends.
    static var ofOthers: Flags {
      [.handleHeld, .observed, .waitedFor, .awaited, .isTask, .attention]
    }

    /// The flags of a gate between two operations.
    static var over: Flags { [.started, .returned, .claimed, .ended] }
  }

  private static var outcomeShift: UInt64 { 16 }

  @inline(__always)
  init(bits: UInt64) { self.bits = bits }

  @inline(__always)
  init(generation: UInt32, _ flags: Flags = [], outcome: Outcome? = nil) {
    bits =
      UInt64(generation) << 32 | UInt64(flags.rawValue)
      | UInt64(outcome?.rawValue ?? 0) << Self.outcomeShift
  }

  @inline(__always)
  var generation: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }

  @inline(__always)
  var flags: Flags { Flags(rawValue: UInt32(truncatingIfNeeded: bits) & 0xFF00_FFFF) }

  @inline(__always)
  var outcome: Outcome? {
    Outcome(rawValue: UInt8(truncatingIfNeeded: bits >> Self.outcomeShift))
  }

  @inline(__always)
  func contains(_ flags: Flags) -> Bool {
    bits & UInt64(flags.rawValue) == UInt64(flags.rawValue)
  }

  @inline(__always)
  func adding(_ flags: Flags) -> OperationWord {
    OperationWord(bits: bits | UInt64(flags.rawValue))
  }

  @inline(__always)
  func removing(_ flags: Flags) -> OperationWord {
    OperationWord(bits: bits & ~UInt64(flags.rawValue))
  }

  // MARK: Events

  /// The word that follows from an event, or why the event is refused.
  enum Change: Equatable {
    case to(OperationWord)
    case refused(Status)
  }

  /// A token of `generation` ends the operation.
  ///
  /// An operation that nobody observes has no data to write, so it ends at once. A token whose
  /// operation was cut off but holds its place is refused here; the caller gives the place up.
  @inline(__always)
  func ending(generation: UInt32, outcome: Outcome) -> Change {
    if self.generation != generation {
      return .refused(self.generation > generation ? .alreadyFinished : .stale)
    }
    if !contains(.started) { return .refused(contains(.claimed) ? .alreadyFinished : .stale) }
    if contains(.claimed) { return .refused(.alreadyFinished) }
    let next = claimed(outcome, withData: contains(.observed))
    return .to(outcome == .failed && contains(.retries) ? next.adding(.restarting) : next)
  }

  /// A token of `generation` ends the attempt and asks for another one. Nil when it cannot.
  func yielding(generation: UInt32) -> OperationWord? {
    guard self.generation == generation, contains(.started), !contains(.claimed) else { return nil }
    return adding([.claimed, .ended, .restarting])
  }

  /// The operation is pending again, for its next attempt. Nil when no attempt has ended.
  func restarted() -> OperationWord? {
    guard contains(.restarting) else { return nil }
    let kept: Flags = [
      .observed, .handleHeld, .ownClock, .waitedFor, .retries, .watched, .awaited,
    ]
    return OperationWord(
      generation: generation + 1, flags.intersection(kept).union(.reattempted))
  }

  /// There is no further attempt. An attempt that only gave way ends cancelled. Nil when no attempt
  /// has ended.
  func endedForGood() -> OperationWord? {
    guard contains(.restarting) else { return nil }
    let word = removing(.restarting)
    if outcome != nil { return contains(.cutOff) ? word.adding(.cancelRequested) : word }
    return OperationWord(bits: word.bits | UInt64(Outcome.cancelled.rawValue) << Self.outcomeShift)
  }

  /// The engine ends the operation: a cancel before its start, a deadline, a destroyed queue. Nil
  /// when its end is decided already.
  ///
  /// If it retries, a deadline ends only the attempt. That is not so if it was asked to end, or if
  /// its place is freed while its work has not returned: another attempt would then use its context
  /// in two calls at once.
  func cutOff(outcome: Outcome, holdingPlace: Bool = false) -> OperationWord? {
    if contains(.claimed) { return nil }
    let isAttempt =
      outcome == .timedOut && contains([.started, .retries]) && !contains(.cancelRequested)
      && (holdingPlace || contains(.returned))
    var word = claimed(outcome, withData: true).adding(
      isAttempt ? [.cutOff, .restarting] : [.cutOff, .cancelRequested])
    // An operation that never started has no call to return from.
    if !contains(.started) { word = word.adding(.returned) }
    return holdingPlace ? word.adding(.placeHeld) : word
  }

  /// The operation is asked to end. Nil when it has been asked already, or its end is decided.
  func requestingCancel() -> OperationWord? {
    if isDecided || contains(.cancelRequested) { return nil }
    return adding(.cancelRequested)
  }

  /// Its handle is released. Nil when it is not held.
  func givingHandleUp() -> OperationWord? {
    contains(.handleHeld) ? removing(.handleHeld) : nil
  }

  @inline(__always)
  private func claimed(_ outcome: Outcome, withData: Bool) -> OperationWord {
    let flags: Flags = withData ? .claimed : [.claimed, .ended]
    return OperationWord(bits: bits | UInt64(outcome.rawValue) << Self.outcomeShift).adding(flags)
  }

  /// Whether the operation is over for the engine: it has ended, its work is not being called, and
  /// its place is not held.
  @inline(__always)
  var isOver: Bool { contains([.ended, .returned]) && !contains(.placeHeld) && isEnded }

  /// Whether what comes after it, shares a name with it or has joined it has to wait. It has, also
  /// when the operation has ended: while its call goes on, unless that was cut off, and while its
  /// place is held.
  var keepsOthersBack: Bool {
    if !isEnded || contains(.placeHeld) { return true }
    return contains(.started) && flags.isDisjoint(with: [.returned, .cutOff])
  }

  /// Whether its work has finished it and nothing else has happened since its start.
  @inline(__always)
  var isSimplyFinished: Bool {
    outcome == .finished && flags.subtracting(.ofOthers) == [.started, .claimed, .ended]
  }

  /// Whether somebody waits for its end.
  var isAwaited: Bool { !flags.isDisjoint(with: [.waitedFor, .awaited]) }

  /// Whether the operation has ended, rather than one attempt.
  @inline(__always)
  var isEnded: Bool { contains(.ended) && !contains(.restarting) }

  /// Whether its end is decided.
  @inline(__always)
  var isDecided: Bool { contains(.claimed) && !contains(.restarting) }

  /// Whether it waits for its start, or for that of its next attempt.
  var isPending: Bool { flags.isDisjoint(with: [.started, .claimed]) }

  var state: OperationState {
    isEnded ? .ended : contains(.started) ? .running : .pending
  }
}
