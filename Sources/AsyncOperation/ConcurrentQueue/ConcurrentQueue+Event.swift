import InturnCore

extension ConcurrentQueue {
  /// Something that has happened to the queue, or to one of its operations.
  public struct Event: Sendable, Equatable {
    /// What can happen.
    public enum Kind: Sendable {
      case enqueued
      /// It was enqueued and has joined another one of its key.
      case joined
      /// An attempt begins.
      case started
      /// An attempt has failed, and another one will follow.
      case retrying
      case ended
      case suspended
      case resumed
      case closed
      /// Nothing is pending or running any more.
      case idle
    }

    /// What has happened.
    public var kind: Kind
    /// Which operation, counted from 1 in the order in which events first tell of them; nil for an
    /// event of the queue's own, and for a plain closure that was enqueued before the events were
    /// first read, of which only the end is told.
    public var number: Int?
    /// The operation's name and where it was enqueued; nil for a plain closure.
    public var source: String?

    init(_ event: QueueEvent) {
      switch event.kind {
      case .enqueued: kind = .enqueued
      case .joined: kind = .joined
      case .started: kind = .started
      case .restarting: kind = .retrying
      case .ended: kind = .ended
      case .suspended: kind = .suspended
      case .resumed: kind = .resumed
      case .closed: kind = .closed
      case .idle: kind = .idle
      }
      number = event.operation == 0 ? nil : Int(event.operation)
      source = event.label.map { String(cString: $0) }
    }
  }
}
