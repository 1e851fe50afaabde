import InturnCore

/// Something that has happened to a queue or to one of its operations.
public enum QueueEvent: Sendable, Equatable {
  /// The operation was accepted.
  case enqueued(OperationInfo)
  /// The operation was enqueued and has joined another one with its key.
  case joined(OperationInfo)
  /// An attempt begins.
  case started(OperationInfo)
  /// An attempt has failed, or has given way, and another one will follow.
  case retrying(OperationInfo)
  /// The operation has ended in this way. The error of a failed one is included by the module
  /// AsyncQueue's queues only.
  case ended(OperationInfo, OperationEnd)
  /// By the first suspend. Not by an interaction queue's view.
  case suspended
  /// By the last resume.
  case resumed
  /// No more operations are accepted.
  case closed
  /// Nothing is pending or running any more.
  case idle

  /// The operation that it is about; nil for an event of the queue itself.
  public var operation: OperationInfo? {
    switch self {
    case .enqueued(let info), .joined(let info), .started(let info), .retrying(let info),
      .ended(let info, _):
      info
    case .suspended, .resumed, .closed, .idle: nil
    }
  }

  /// An event as reported by the engine.
  init(_ event: InturnCore.QueueEvent) {
    var info = OperationInfo(
      state: .pending, label: event.label.map { String(cString: $0) },
      number: event.operation == 0 ? nil : Int(event.operation))
    switch event.kind {
    case .enqueued: self = .enqueued(info)
    case .joined: self = .joined(info)
    case .started:
      info.state = .running
      self = .started(info)
    case .restarting: self = .retrying(info)
    case .ended:
      info.state = .ended
      self = .ended(info, OperationEnd(event.outcome ?? .finished, event.cause))
    case .suspended: self = .suspended
    case .resumed: self = .resumed
    case .closed: self = .closed
    case .idle: self = .idle
    }
  }
}
