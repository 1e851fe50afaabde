import InturnCore

/// The state of an operation. Between two attempts, or after giving way, it is pending.
public enum OperationState: Sendable {
  case pending, running, ended

  package init(_ state: InturnCore.OperationState) {
    switch state {
    case .pending: self = .pending
    case .running: self = .running
    case .ended: self = .ended
    }
  }
}

/// What a queue says about one of its operations.
public struct OperationInfo: Sendable, Equatable {
  /// Its state.
  public var state: OperationState
  /// Whether it was asked to end.
  public var isCancelled: Bool
  /// Its label, and the line that enqueued it, if known; nil for a plain closure.
  public var label: String?
  /// Its number, in an event: counted from 1 in the order in which the queue's events first mention
  /// operations. Nil where operations are not counted: in a list, in events of the module
  /// AsyncQueue's queues, and for a plain closure that was enqueued before anybody read the events.
  public var number: Int?

  /// The info that a queue would give of such an operation, for comparisons in tests.
  public init(
    state: OperationState, isCancelled: Bool = false, label: String? = nil, number: Int? = nil
  ) {
    self.state = state
    self.isCancelled = isCancelled
    self.label = label
    self.number = number
  }

  /// The operations of a queue that have not ended: running ones first, then pending ones, roughly
  /// in the order in which they will start.
  package static func list(of queue: Handle, atMost count: Int) -> [OperationInfo] {
    require(count >= 0, "A count must not be negative.")
    var all: [OperationInfo] = []
    if count == 0 { return all }
    // Called under the engine's lock; it allocates, but calls no user code.
    _ = Engine.list(queue) { info in
      all.append(
        OperationInfo(
          state: OperationState(info.state), isCancelled: info.isCancelled,
          label: info.label.map { String(cString: $0) }))
      return all.count < count
    }
    return all
  }
}
