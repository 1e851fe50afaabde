import InturnCore

/// Something that has happened to a queue, or to one of its operations.
public enum QueueEvent: Sendable, Equatable {
  /// It was accepted.
  case enqueued(OperationInfo)
  /// It was enqueued and has joined another one of its key.
  case joined(OperationInfo)
  /// An attempt begins.
  case started(OperationInfo)
  /// An attempt has failed, or has given way, and another one will follow.
  case retrying(OperationInfo)
  /// It has ended so. The error of one that failed is not told here.
  case ended(OperationInfo, OperationEnd)
  /// By the first suspend; an interaction queue's view is another matter.
  case suspended
  /// By the last resume.
  case resumed
  /// No more operations are accepted.
  case closed
  /// Nothing is pending or running any more.
  case idle

  /// Which operation it is about; nil for an event of the queue's own.
  public var operation: OperationInfo? {
    switch self {
    case .enqueued(let info), .joined(let info), .started(let info), .retrying(let info),
      .ended(let info, _):
      info
    case .suspended, .resumed, .closed, .idle: nil
    }
  }

  /// What the engine tells.
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
