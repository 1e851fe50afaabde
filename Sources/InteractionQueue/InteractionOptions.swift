import InturnCore

/// How an interaction is presented; all of it may be left out.
public struct InteractionOptions: Sendable {
  /// Higher ones are presented first, equal ones in order.
  public var priority: Int32 = 0
  /// It comes before all that are not urgent, and the running one, unless that is urgent too, is
  /// asked to give way: see ``Presentation/onPreempt(_:)``.
  public var isUrgent = false
  /// By which it can be found: see ``InteractionQueue/resolve(key:)``.
  public var key: String?
  /// It joins the interaction of its key that has not ended, if there is one: it is not presented,
  /// and ends when that one ends and in the same way. When that one is cancelled by its own caller,
  /// owner or grace time, the first that has joined it is presented in its place.
  public var joins = false
  /// Whose interaction it is: when the owner goes away, it is cancelled.
  public var owner: InteractionOwner?
  /// How long it may be on screen; then it ends as timed out, and the next one may be presented.
  public var maximumTimeOnScreen: Duration?
  /// How long it may wait for its turn; then it ends as timed out.
  public var maximumWait: Duration?
  /// After so long in the queue, and again after so long on screen, a report is made.
  public var stallWarning: Duration?
  /// How long it may stay on screen after it was cancelled.
  public var cancelGrace: Duration?
  /// Is asked just before the interaction would be presented. Called on the main thread, within the
  /// time on screen; what blocks here blocks the main thread. It cannot throw: what keeps it from
  /// knowing is a reason to present or to give up. When the view disappears, or the queue is
  /// suspended, before it returns, the interaction is not presented then, and it is asked again.
  public var condition: (@MainActor @Sendable () -> InteractionQueue.Verdict)?

  /// Options of an interaction that waits for its turn and lasts as long as it likes.
  public init() {}

  /// The same, as changed by a closure: `.with { $0.priority = 1 }`.
  public static func with(_ change: (inout InteractionOptions) -> Void) -> InteractionOptions {
    var options = InteractionOptions()
    change(&options)
    return options
  }

  var engineOptions: OperationOptions {
    precondition(!joins || key != nil, "An interaction that joins others needs a key.")
    var result = OperationOptions()
    result.priority = priority
    result.isUrgent = isUrgent
    result.key = key
    result.joins = joins
    result.owner = owner?.core
    result.maxRun = Self.limit(maximumTimeOnScreen, "maximumTimeOnScreen")
    result.freesPlaceAtMaxRun = true
    result.maxWait = Self.limit(maximumWait, "maximumWait")
    result.stall = Self.limit(stallWarning, "stallWarning")
    result.grace = Self.limit(cancelGrace, "cancelGrace")
    if condition != nil { result.condition = Interaction.askCondition }
    return result
  }

  private static func limit(_ duration: Duration?, _ name: String) -> Int64 {
    guard let duration else { return 0 }
    precondition(duration > .zero, "\(name) must be positive; use nil for no limit.")
    return max(1, duration.nanoseconds)
  }
}

/// Whoever interactions are for: a window, a document, a web site.
///
/// When it goes away, by ``goAway()`` or because its last reference does, its interactions are
/// cancelled: pending ones end at once, a running one is asked to end.
public final class InteractionOwner: Sendable {
  let core: Owner
  private let handle: Handle

  /// Makes an owner that may have so many interactions which have not ended; one more is refused.
  public init(capacity: Int? = nil) {
    precondition(capacity ?? 1 > 0, "A capacity must be positive; use nil for no limit.")
    handle = Engine.createOwner(capacity: UInt64(capacity ?? 0))
    core = Engine.owner(handle).1!
  }

  deinit { goAway() }

  /// Cancels the owner's interactions, and refuses new ones. May be called more than once.
  public func goAway() { _ = Engine.destroy(owner: handle) }
}
