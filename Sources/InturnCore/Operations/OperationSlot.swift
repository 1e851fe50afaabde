import Synchronization

/// An operation that is more than a job in a buffer: it runs, it has options, or somebody holds
/// its handle. Two cache lines in a slab whose memory is never given back.
///
/// Who may touch what:
/// - `word` is atomic. It alone says who has ended the operation.
/// - `cause`, `code`, `result` and `endedAt` are written by who has set `claimed`, before `ended`
///   is set with releasing order, and read after `ended` was seen with acquiring order.
/// - `flags`, the links and `details` are protected by the lane's lock.
/// - The rest is written before the slot is published and never again until it is free.
struct OperationSlot: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<OperationSlot>

  // First, for the thread sanitizer; see `Lane`.
  /// In the lane's list of running operations, or of blocked ones.
  var link: UInt32
  var previous: UInt32
  let word: Atomic<UInt64>
  /// The lane's address. Atomic because a token may look at it while the slot changes hands; who
  /// does checks the generation again under that lane's lock.
  let laneAddress: Atomic<UInt>
  var work: Work
  var context: UnsafeMutableRawPointer?
  var destroy: RawDestroy?
  /// The engine's reference, the handle's, and one for each call that is looking at the slot. The
  /// last one gives the slot back.
  let references: Atomic<UInt32>
  /// Counts wake-ups; who waits for the end sleeps on it.
  let wakeups: Atomic<UInt32>
  /// In the lane's list of deliveries.
  var nextDelivery: Pointer?
  var code: Int32
  var index: UInt32
  var result: UnsafeMutableRawPointer?
  var resultDestroy: RawDestroy?
  var enqueuedAt: Int64
  var startedAt: Int64
  var endedAt: Int64
  var details: UnsafeMutablePointer<OperationDetails>?
  var cause: Cause
  var flags: Flags
  /// The lane's generation: whether its queue is still the one that accepted the operation.
  var laneGeneration: UInt32

  /// The last generation with which an operation begins; after it, the slot is retired. Each further
  /// attempt takes one, too, and as many again are left for them: whatever its slot has seen before,
  /// an operation has more than 500 million attempts.
  static var lastGeneration: UInt32 { Handle.maximumGeneration / 2 }

  /// What has been done about an end. Each is set once.
  struct Flags: OptionSet {
    let rawValue: UInt16
    /// It is in the statistics.
    static let counted = Flags(rawValue: 1 << 0)
    /// It is not among the lane's running operations any more.
    static let placeReleased = Flags(rawValue: 1 << 1)
    /// Its end callback has been called, or is being called.
    static let endDelivered = Flags(rawValue: 1 << 2)
    /// It is in the list of deliveries, or being delivered.
    static let inDelivery = Flags(rawValue: 1 << 3)
    /// Its place was released while its work was being called: that drainer is none any more.
    static let detached = Flags(rawValue: 1 << 4)
    /// It is pending, and among its lane's blocked operations.
    static let isBlocked = Flags(rawValue: 1 << 6)
    /// It is its lane's fence.
    static let isFence = Flags(rawValue: 1 << 7)
    /// It is pending, and behind its lane's fence.
    static let isBehind = Flags(rawValue: 1 << 8)
    /// Cancelling it before its start only asks it to end: somebody waits for what its work gives.
    static let obstinate = Flags(rawValue: 1 << 9)
    /// Nobody is told its times: it has no options, and its handle is not given to users.
    static let untimed = Flags(rawValue: 1 << 10)
  }
}

/// What only operations with options have.
struct OperationDetails {
  var label: UnsafeMutablePointer<CChar>?
  var endCallback = EndCallback()
  var onCancel = NoticeHandler()
  var onPreempt = NoticeHandler()
  var maxWait: Int64 = 0
  var maxRun: Int64 = 0
  var stall: Int64 = 0
  var grace: Int64 = 0
  /// When the next stall warning, deadline and end of grace are due; `Int64.max` for none.
  var stallAt = Int64.max
  var deadlineAt = Int64.max
  var graceAt = Int64.max
  /// In the lane's list of operations whose handlers are to be handed to the executor.
  var nextNotice: OperationSlot.Pointer?
  /// Of an operation that has deadlines; made when it is armed first.
  var timer: TimerNode.Pointer?
  /// Those that it belongs to, if it has a key or an owner.
  var groups: UnsafeMutablePointer<OperationGroups>?
  /// Which one of its queue's, where somebody is told the queue's events.
  var number: UInt64 = 0
  var progress = Progress()
  /// Those that tell its state and its progress.
  var states: [StateTrail] = []

  // These take a byte each: side by side they are one word.
  var freesPlaceAtMaxRun = false
  /// An urgent operation wants its place.
  var isPreempted = false
  var isNoticed = false
  /// The timer was armed, and has not been disarmed since; it may have fired.
  var isTimerArmed = false
  /// Why it was asked to end.
  var requestCause = Cause.request

  // Last, so that what operations need that only come after others lies side by side with the plan.
  /// Nothing is asked of the operation but what it comes after; see `LeanDetailsPool`.
  var isLean = false
  /// When it starts, and how often, if there is more to that than its turn.
  var plan: OperationPlan.Pointer?
  /// The operations that come after it.
  var firstEdge: Edge.Pointer?
  var lastEdge: Edge.Pointer?

  // Written where it is to be, rather than copied there.
  @inline(__always)
  init() {}
}

/// How far an operation has come, in units of its own.
package struct Progress: Equatable, Sendable {
  package var completed: Int64 = 0
  /// Zero while it is not known.
  package var total: Int64 = 0

  package init() {}

  package init(completed: Int64, total: Int64) {
    self.completed = completed
    self.total = total
  }

  /// Whether it is one: nothing is negative, and no more is completed than there is.
  package var isValid: Bool { completed >= 0 && total >= 0 && (total == 0 || completed <= total) }
}

/// The end of an operation, for its callback and for who waits.
package struct OperationEnd {
  package var outcome: Outcome
  package var cause: Cause
  package var code: Int32
  package var result: UnsafeMutableRawPointer?
  package var label: UnsafePointer<CChar>?
  package var attempts: UInt32
  package var enqueuedAt: Int64
  package var startedAt: Int64
  package var endedAt: Int64
}

extension OperationEnd {
  /// Of an operation of which nothing else is known.
  init(outcome: Outcome, cause: Cause) {
    self.init(
      outcome: outcome, cause: cause, code: 0, attempts: 0, enqueuedAt: 0, startedAt: 0,
      endedAt: 0)
  }
}

/// An end callback: the caller's function, kept as a bare pointer, and how to call it.
package struct EndCallback {
  package typealias Function = @convention(c) () -> Void
  package typealias Call = (Function, UnsafeMutableRawPointer?, OperationEnd) -> Void

  package var function: Function?
  package var call: Call?
  package var context: UnsafeMutableRawPointer?
  package var destroy: RawDestroy?

  package init() {}
  package init(
    function: Function, call: @escaping Call, context: UnsafeMutableRawPointer?,
    destroy: RawDestroy?
  ) {
    self.function = function
    self.call = call
    self.context = context
    self.destroy = destroy
  }
}
