import InturnCore

/// What an operation waits for, and how it is dealt with; all of it may be left out. Times are of its
/// queue's clock.
///
/// What a kind of queue cannot do is refused when the operation is enqueued, with
/// ``QueueError/unsupported(_:)``; each says which queues have it.
public struct OperationOptions: Sendable {
  /// What reports and events call it, beside the line that enqueued it.
  public var label: String?
  /// Higher ones start first, equal ones in order. Of concurrent and interaction queues.
  public var priority: Int32 = 0
  /// It comes before all that are not urgent, and the running one, unless that is urgent too, is
  /// asked to give way: see ``FinishToken/onPreempt(_:)``. Of interaction queues.
  public var isUrgent = false
  /// It starts when all that was enqueued before it has ended, and nothing that is enqueued later
  /// starts before it has ended. Of concurrent queues; elsewhere it is so anyway.
  public var isBarrier = false
  /// Operations, of any queue, that end before this one starts. As they exist before it, there is no
  /// ring of them.
  public var after: [QueuedOperation] = []
  /// Whether it ends as cancelled, by ``OperationEnd/Cause/dependency``, when one of those ends
  /// otherwise than finished; else it starts when all have ended.
  public var needsFinished = false
  /// Names of what it needs for itself: of all operations of all queues that have a name in common,
  /// one runs at a time. It gets all its names at once, or waits until it can.
  public var exclusive: [String] = []
  /// Is asked just before each attempt, where the queue's work is called, in the operation's place and
  /// within its `maxRun`. On an interaction queue that is the main thread, where
  /// `MainActor.assumeIsolated` may be used; when the view disappears, or the queue is suspended,
  /// before it returns, it is asked again later.
  public var condition: (@Sendable () -> Verdict)?
  /// Whether, and when, it is started again after a failure.
  public var retry: Retry?
  /// By which it can be found: see ``WorkQueue/cancel(key:)`` and ``WorkQueue/resolve(key:)``.
  public var key: String?
  /// It joins the operation of its key that has not ended, if the queue has one: its work is not
  /// called, and it ends when that one ends, in the same way and with the same value. When that one
  /// is cancelled by its own caller, owner or grace time, the first that has joined it stands in for
  /// it.
  public var joins = false
  /// Whose operation it is: when the owner goes away, it is cancelled.
  public var owner: Owner?
  /// From the enqueue to the first start; then it ends as timed out, and never runs.
  public var maxWait: Duration?
  /// From the start to the end of each attempt; then it ends as timed out, and is asked to stop.
  public var maxRun: Duration?
  /// Whether another operation may take its place when `maxRun` has passed, although its work may still
  /// go on. Otherwise the place is held until its token is used or lost. An interaction's is freed in
  /// any case.
  public var freesPlaceAtMaxRun = false
  /// After so long in the queue, and again after so long running, a report is made.
  public var stall: Duration?
  /// How long it may go on after it was cancelled; then it ends as cancelled.
  public var cancelGrace: Duration?

  /// Options of an operation that is enqueued as it is.
  public init() {}

  /// The same, as changed by a closure: `.with { $0.priority = 1 }`.
  public static func with(_ change: (inout OperationOptions) -> Void) -> OperationOptions {
    var options = OperationOptions()
    change(&options)
    return options
  }

  /// Calls `body` with what the engine is told: without what it comes after, and the functions. What
  /// that points to is there during the call.
  package func withEngineOptions<Result>(
    label: String?, _ body: (inout InturnCore.OperationOptions) -> Result
  ) -> Result {
    precondition(!joins || key != nil, "An operation that joins others needs a key.")
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
    precondition(duration > .zero, "\(name) must be positive; use nil for no limit.")
    return max(1, duration.inNanoseconds)
  }
}

extension OperationOptions {
  /// The label as events and reports have it: with the line, or the line alone.
  package func label(at fileID: StaticString, _ line: UInt) -> String {
    (label.map { "\($0), " } ?? "") + "\(fileID):\(line)"
  }
}
