import Synchronization

/// An operation that is more than a job in a buffer: it runs, it has options, or somebody holds
/// its handle. Two cache lines in a slab whose memory is never given back.
///
/// Who may access what:
/// - `word` is atomic. It alone says who has ended the operation.
/// - `cause`, `code`, `result` and `endedAt` are written by whoever has set `claimed`, before
///   `ended` is set with releasing order, and read after `ended` was seen with acquiring order.
/// - `flags`, the links and `details` are protected by the lane's lock.
/// - The rest is written before the slot is published and never again until it is free.
struct OperationSlot: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<OperationSlot>

  // First, for the thread sanitizer; see `Lane`.
  /// Links in the lane's list of running operations, or of blocked ones.
  var link: UInt32
  var previous: UInt32
  let word: Atomic<UInt64>
  /// The lane's address. Atomic because a token may read it while the slot changes hands; its
  /// reader checks the generation again under that lane's lock.
  let laneAddress: Atomic<UInt>
  var work: Work
  var context: UnsafeMutableRawPointer?
  var destroy: RawDestroy?
  /// References: the engine's, the handle's, and one for each call that uses the slot. The last one
  /// frees the slot.
  let references: Atomic<UInt32>
  /// Counts wake-ups; threads that wait for the end sleep on it.
  let wakeups: Atomic<UInt32>
  /// The next slot in the lane's list of deliveries. See `caller`.
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
  /// Changes with each report of progress; 0 before the first one. The lane's lock protects it.
  var reports: UInt8
  var flags: Flags
  /// The lane's generation when it accepted the operation; another one means that its queue is
  /// gone.
  var laneGeneration: UInt32

  /// The number of the thread that was last to start it, and calls its work; 0 if that is not known.
  /// Until the operation has ended it is in no list of deliveries, so the number has the place of that
  /// link.
  var caller: UInt64 {
    @inline(__always) get { UInt64(UInt(bitPattern: nextDelivery)) }
    @inline(__always) set { nextDelivery = Pointer(bitPattern: UInt(truncatingIfNeeded: newValue)) }
  }

  /// The last generation in which an operation may begin; after it, the slot is retired. The same
  /// number again is left for further attempts, each of which takes one: whatever its slot has been
  /// through, an operation can have more than 500 million attempts.
  static var lastGeneration: UInt32 { Handle.maximumGeneration / 2 }

  /// How far an end has been processed, where a pending operation is, and how it was enqueued.
  struct Flags: OptionSet {
    let rawValue: UInt16
    /// It is counted in the statistics.
    static let counted = Flags(rawValue: 1 << 0)
    /// It is no longer among the lane's running operations.
    static let placeReleased = Flags(rawValue: 1 << 1)
    /// Its end callback has been called, or is being called.
    static let endDelivered = Flags(rawValue: 1 << 2)
    /// It is in the list of deliveries, or being delivered.
    static let inDelivery = Flags(rawValue: 1 << 3)
    /// Its place was released while its work was being called, so that drainer no longer counts.
    static let detached = Flags(rawValue: 1 << 4)
    /// It is pending, among its lane's blocked operations.
    static let isBlocked = Flags(rawValue: 1 << 6)
    /// It is why its lane is `occupied`.
    static let occupies = Flags(rawValue: 1 << 11)
    /// It is its lane's fence.
    static let isFence = Flags(rawValue: 1 << 7)
    /// It is pending, behind its lane's fence.
    static let isBehind = Flags(rawValue: 1 << 8)
    /// A cancel before its start only asks it to end: somebody waits for its work's result.
    static let obstinate = Flags(rawValue: 1 << 9)
    /// Nobody reads its times: it has no options, and users do not get its handle.
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
  /// The next slot in an outbox's list of operations with handlers to submit.
  var nextNotice: OperationSlot.Pointer?
  /// For an operation with deadlines; created when first armed.
  var timer: TimerNode.Pointer?
  /// For an operation with a key or an owner.
  var groups: UnsafeMutablePointer<OperationGroups>?
  /// Its number in its queue, if the queue has an observer.
  var number: UInt64 = 0
  var progress = Progress()
  /// The observed values of its state and progress.
  var states: [StateTrail] = []

  // One byte each: side by side they fill a word.
  var freesPlaceAtMaxRun = false
  /// An urgent operation wants its place.
  var isPreempted = false
  var isNoticed = false
  /// Set when the timer is armed, cleared when it is disarmed; it may have fired.
  var isTimerArmed = false
  /// Why it was asked to end.
  var requestCause = Cause.request

  // Last, so that all that operations with mere dependencies need lies next to the plan.
  /// The operation asks for nothing but dependencies and a priority; see `LeanDetailsPool`.
  var isLean = false
  /// When and how often it starts, if that takes more than a turn.
  var plan: OperationPlan.Pointer?
  /// Edges to the operations that depend on it.
  var firstEdge: Edge.Pointer?
  var lastEdge: Edge.Pointer?

  // Inlined so that it is initialised in place rather than copied.
  @inline(__always)
  init() {}
}

/// How far an operation has come, in units of its own.
package struct Progress: Equatable, Sendable {
  package var completed: Int64 = 0
  /// Zero while unknown.
  package var total: Int64 = 0

  package init() {}

  package init(completed: Int64, total: Int64) {
    self.completed = completed
    self.total = total
  }

  /// Whether the values are consistent: none is negative, and `completed` does not exceed a known
  /// `total`.
  package var isValid: Bool { completed >= 0 && total >= 0 && (total == 0 || completed <= total) }
}

/// The end of an operation, for its callback and its waiters.
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
  /// The end of an operation of which nothing else is known.
  init(outcome: Outcome, cause: Cause) {
    self.init(
      outcome: outcome, cause: cause, code: 0, attempts: 0, enqueuedAt: 0, startedAt: 0,
      endedAt: 0)
  }
}

/// An end callback: the caller's function as a bare pointer, and how to call it.
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
