import InturnCore

/// What an operation waits for, and how it is handled; everything is optional. Times are on its
/// queue's clock.
///
/// An option that the queue's kind does not have is refused when the operation is enqueued, with
/// ``QueueError/unsupported(_:)``; each option says which queues have it.
public struct OperationOptions: Sendable {
  /// Its name in reports and events, in addition to the line that enqueued it.
  public var label: String?
  /// Higher priorities start first, equal ones in order. For concurrent and interaction queues.
  public var priority: Int32 = 0
  /// It goes before all that are not urgent, and the running operation, unless it is urgent too, is
  /// asked to give way: see ``FinishToken/onPreempt(_:)``. For interaction queues.
  public var isUrgent = false
  /// It starts when everything enqueued before it has ended, and nothing enqueued later starts
  /// before it has ended. For concurrent queues; all operations of a FIFO queue do so anyway.
  public var isBarrier = false
  /// Operations, of any queue, that have to end before this one starts. As they exist before it,
  /// they form no ring by themselves; one that a wait inside an operation would close is refused.
  public var after: [QueuedOperation] = []
  /// Whether it ends as cancelled, by ``OperationEnd/Cause/dependency``, when one of those ends
  /// otherwise than finished. Otherwise it starts when all have ended.
  public var needsFinished = false
  /// Names of things that it needs exclusively: of all operations of all queues that share a name,
  /// one runs at a time. It gets all its names at once, or waits until it can.
  public var exclusive: [String] = []
  /// Called just before each attempt, where the queue's work is called; it takes up the operation's
  /// place and its `maxRun`, and the operation is running. Nil starts the attempt. Otherwise it says
  /// how the operation ends without it: ``OperationEnd/skipped`` if it is not needed any more,
  /// ``OperationEnd/cancelled`` if it cannot be done; any other end is a programmer's error.
  ///
  /// On an interaction queue, it is called on the main thread, where `MainActor.assumeIsolated` may
  /// be used. When the view disappears or the queue is suspended before it returns, it is called
  /// again later.
  public var condition: (@Sendable () -> OperationEnd?)?
  /// Whether, and when, it is attempted again after a failure.
  public var retry: Retry?
  /// The key by which it can be found: see ``WorkQueue/cancel(key:)`` and
  /// ``WorkQueue/resolve(key:)``.
  public var key: String?
  /// Joins an operation with the same key that has not ended, if the queue has one: its work is not
  /// called, and it ends when that operation ends, with the same outcome and the same value or
  /// error; its cause is ``OperationEnd/Cause/joined``. If that operation is cancelled by its own
  /// caller, owner or grace time, the first one that has joined it stands in for it.
  public var joins = false
  /// The owner: when the owner goes away, the operation is cancelled.
  public var owner: Owner?
  /// The time from the enqueue to the first start; after it, the operation ends as timed out and
  /// never runs.
  public var maxWait: Duration?
  /// The time from the start to the end of each attempt; after it, the attempt ends as timed out
  /// and the work is asked to stop.
  public var maxRun: Duration?
  /// Whether another operation may take its place when `maxRun` has passed, although its work may still
  /// go on. Otherwise the place is held until its token is used or lost. An interaction's is freed in
  /// any case.
  public var freesPlaceAtMaxRun = false
  /// After this time in the queue, and again after this time running, a report is made.
  public var stall: Duration?
  /// How long it may go on after it was cancelled; then it ends as cancelled.
  public var cancelGrace: Duration?

  /// Default options.
  public init() {}

  /// Default options, changed by a closure: `.with { $0.priority = 1 }`.
  public static func with(_ change: (inout OperationOptions) -> Void) -> OperationOptions {
    var options = OperationOptions()
    change(&options)
    return options
  }

  /// Calls `body` with the engine's form of the options, without dependencies and functions. What
  /// that points to is valid during the call.
  package func withEngineOptions<Result>(
    label: String?, _ body: (inout InturnCore.OperationOptions) -> Result
  ) -> Result {
    require(!joins || key != nil, "An operation that joins others needs a key.")
    var result = plainEngineOptions
    return withOptionalCString(label) { label in
      result.label = label
      return Self.withNames((key.map { [$0] } ?? []) + exclusive) { names in
        result.key = key == nil ? nil : names.first
        result.names = key == nil ? names : .init(rebasing: names.dropFirst())
        return body(&result)
      }
    }
  }

  private static func withNames<Result>(
    _ names: [String], _ body: (UnsafeBufferPointer<UnsafePointer<CChar>>) -> Result
  ) -> Result {
    var text: [CChar] = []
    let places = names.map { name in
      defer { text += name.nameBytes }
      return text.count
    }
    return text.withUnsafeBufferPointer { text in
      places.map { text.baseAddress.unsafelyUnwrapped + $0 }.withUnsafeBufferPointer(body)
    }
  }

  private var plainEngineOptions: InturnCore.OperationOptions {
    var result = InturnCore.OperationOptions()
    result.priority = priority
    result.isUrgent = isUrgent
    result.isBarrier = isBarrier
    result.needsFinished = needsFinished
    result.joins = joins
    result.owner = owner?.core
    result.maxWait = Self.limit(maxWait, "maxWait")
    result.maxRun = Self.limit(maxRun, "maxRun")
    result.freesPlaceAtMaxRun = freesPlaceAtMaxRun
    result.stall = Self.limit(stall, "stall")
    result.grace = Self.limit(cancelGrace, "cancelGrace")
    return result
  }

  private static func limit(_ duration: Duration?, _ name: StaticString) -> Int64 {
    guard let duration else { return 0 }
    require(duration > .zero, "\(name) must be positive; use nil for no limit.")
    return max(1, duration.inNanoseconds)
  }
}

extension OperationOptions {
  /// The label in events and reports: with the line, or the line alone.
  package func label(at site: Site) -> String? {
    guard let place = site.text else { return label }
    return (label.map { "\($0), " } ?? "") + place
  }
}
