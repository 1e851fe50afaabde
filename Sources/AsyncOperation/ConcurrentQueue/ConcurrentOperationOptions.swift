import InturnCore

/// What an operation of a ``ConcurrentQueue`` waits for, and how it is dealt with; all of it may be
/// left out. Times are of the queue's clock.
public struct ConcurrentOperationOptions: Sendable {
  /// What becomes of an operation when one of its dependencies ends otherwise than finished.
  public enum DependencyPolicy: Sendable {
    /// Nothing: it starts when all have ended.
    case startsAnyway
    /// It ends as cancelled, by ``ConcurrentOperation/End/Cause/dependency``.
    case isCancelled
  }

  /// What a condition says, just before the operation would start.
  public enum Verdict: Sendable {
    case start
    /// It is not needed any more: it ends as ``ConcurrentOperation/End/skipped``.
    case skip
    /// It cannot be done: it ends as cancelled.
    case giveUp
  }

  /// Higher ones start first, equal ones in order.
  public var priority: Int32 = 0
  /// What reports and events call it, beside the line that enqueued it.
  public var name: String?
  /// Operations, of any concurrent queue, that end before this one starts. As they exist before it,
  /// there is no ring of them.
  public var dependencies: [ConcurrentOperation] = []
  /// What it means when one of them does not finish.
  public var dependencyPolicy = DependencyPolicy.startsAnyway
  /// It starts when all that was enqueued before it has ended, and nothing that is enqueued later
  /// starts before it has ended.
  public var isBarrier = false
  /// Names of what it needs for itself: of all operations of all queues that have a name in common,
  /// one runs at a time. It gets all its names at once, or waits until it can.
  public var exclusiveNames: [String] = []
  /// Whether, and when, it is started again after a failure.
  public var retry: ConcurrentRetry?
  /// Is asked on a thread of the pool just before each attempt, in the operation's place and within
  /// its maximum run.
  public var condition: (@Sendable () -> Verdict)?
  /// By which it can be found: see ``ConcurrentQueue/resolve(key:)``.
  public var key: String?
  /// It joins the operation of its key that has not ended, if the queue has one: its work is not
  /// called, and it ends when that one ends, in the same way and with the same value. When that one
  /// is cancelled by its own caller, owner or grace time, the first that has joined it stands in for
  /// it.
  public var joins = false
  /// Whose operation it is: when the owner goes away, it is cancelled.
  public var owner: ConcurrentOwner?
  /// From the enqueue to the first start; then it ends as timed out.
  public var maximumWait: Duration?
  /// From the start to the end of each attempt; then it ends as timed out.
  public var maximumRun: Duration?
  /// Whether another operation may take its place at the maximum run, although its work may still
  /// go on. Otherwise the place is held until its token is used or lost.
  public var freesPlaceAtMaximumRun = false
  /// After so long in the queue, and again after so long running, a report is made.
  public var stallWarning: Duration?
  /// How long it may go on after it was cancelled; then it ends as cancelled.
  public var cancelGrace: Duration?

  /// Options of an operation that is enqueued as it is.
  public init() {}

  /// The same, as changed by a closure: `.with { $0.priority = 1 }`.
  public static func with(
    _ change: (inout ConcurrentOperationOptions) -> Void
  ) -> ConcurrentOperationOptions {
    var options = ConcurrentOperationOptions()
    change(&options)
    return options
  }

  /// Without the label and the dependencies.
  var engineOptions: OperationOptions {
    precondition(!joins || key != nil, "An operation that joins others needs a key.")
    var result = OperationOptions()
    result.priority = priority
    result.needsFinished = dependencyPolicy == .isCancelled
    result.isBarrier = isBarrier
    result.names = exclusiveNames
    result.retry = retry?.enginePolicy
    if condition != nil { result.condition = ConcurrentOperation.askCondition }
    result.key = key
    result.joins = joins
    result.owner = owner?.core
    result.maxWait = Self.limit(maximumWait, "maximumWait")
    result.maxRun = Self.limit(maximumRun, "maximumRun")
    result.freesPlaceAtMaxRun = freesPlaceAtMaximumRun
    result.stall = Self.limit(stallWarning, "stallWarning")
    result.grace = Self.limit(cancelGrace, "cancelGrace")
    return result
  }

  private static func limit(_ duration: Duration?, _ name: StaticString) -> Int64 {
    guard let duration else { return 0 }
    precondition(duration > .zero, "\(name) must be positive; use nil for no limit.")
    return max(1, duration.inNanoseconds)
  }
}
