import InturnCore

/// How far an operation has come. One that is tried again, or has given way, is pending in between.
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

/// What a queue tells of one operation.
public struct OperationInfo: Sendable, Equatable {
  /// How far it has come.
  public var state: OperationState
  /// Whether it was asked to end.
  public var isCancelled: Bool
  /// Its label, and where it was enqueued as far as that is known; nil for a plain closure.
  public var label: String?
  /// Which it is, in an event: counted from 1 in the order in which the queue's events first tell of
  /// them. Nil where operations are not counted: in a list, and for a plain closure that was enqueued
  /// before somebody read the events.
  public var number: Int?

  /// What a queue would say of such an operation; to compare with, in tests.
  public init(
    state: OperationState, isCancelled: Bool = false, label: String? = nil, number: Int? = nil
  ) {
    self.state = state
    self.isCancelled = isCancelled
    self.label = label
    self.number = number
  }

  /// The operations of a queue that have not ended: running ones first, then pending ones in about the
  /// order in which they will start.
  package static func list(of queue: Handle, atMost count: Int) -> [OperationInfo] {
    precondition(count >= 0, "A count must not be negative.")
    var all: [OperationInfo] = []
    if count == 0 { return all }
    // Called under the engine's lock; what it allocates is no user's code.
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
