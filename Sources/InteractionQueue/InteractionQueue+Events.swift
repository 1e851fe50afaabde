import InturnCore

extension InteractionQueue {
  /// Something that has happened to the queue, or to one of its interactions.
  public struct Event: Sendable, Equatable {
    /// What can happen.
    public enum Kind: Sendable {
      /// It was accepted.
      case added
      /// It was added and has joined another one of its key: it is suppressed.
      case joined
      /// It is about to be presented.
      case presenting
      /// It has given way, and will be presented again; or the view has disappeared, or the queue
      /// been suspended, while its condition was asked: that is asked again.
      case yielded
      /// It has ended: see ``InteractionQueue/InteractionQueue/Event/end``.
      case ended
      /// By the first suspend; the view is another matter.
      case suspended
      /// By the last resume.
      case resumed
      /// No more interactions are accepted.
      case closed
      /// Nothing is pending or running any more.
      case idle
    }

    /// What has happened.
    public var kind: Kind
    /// Which interaction, counted from 1 in the order in which the queue got them; nil for an event
    /// of the queue's own.
    public var number: Int?
    /// Where it was added: `Module/File.swift:12`.
    public var source: String?
    /// How it ended; nil for all kinds but ``Kind-swift.enum/ended``.
    public var end: Interaction.End?
  }

  /// The queue's events from now on, in order, until the queue is released. Each use gives a
  /// sequence of its own; a slow reader's events wait in memory.
  public var events: AsyncStream<Event> { broadcast.stream() }
}

/// Sends a queue's events to everybody who reads them.
final class EventBroadcast: Sendable {
  private struct Readers {
    var all: [Int: AsyncStream<InteractionQueue.Event>.Continuation] = [:]
    var next = 0
    var isFinished = false
  }

  /// Protects the readers. A continuation's own lock may be taken under it, never the other way
  /// round, as nothing is called from under that.
  private let readers = Locked(Readers())

  func stream() -> AsyncStream<InteractionQueue.Event> {
    let (stream, continuation) = AsyncStream<InteractionQueue.Event>.makeStream()
    let number = readers.withLock { readers -> Int? in
      if readers.isFinished { return nil }
      readers.next += 1
      readers.all[readers.next] = continuation
      return readers.next
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.forget(number) }
    return stream
  }

  private func forget(_ number: Int) {
    let reader = readers.withLock { $0.all.removeValue(forKey: number) }
    withExtendedLifetime(reader) {}
  }

  func send(_ event: QueueEvent) {
    let all = readers.withLock { Array($0.all.values) }
    if all.isEmpty { return }
    let told = InteractionQueue.Event(event)
    for reader in all { reader.yield(told) }
  }

  func finish() {
    let all = readers.withLock { readers in
      readers.isFinished = true
      defer { readers.all = [:] }
      return readers.all
    }
    for reader in all.values { reader.finish() }
  }
}

extension InteractionQueue.Event {
  fileprivate init(_ event: QueueEvent) {
    switch event.kind {
    case .enqueued: kind = .added
    case .joined: kind = .joined
    case .started: kind = .presenting
    case .restarting: kind = .yielded
    case .ended: kind = .ended
    case .suspended: kind = .suspended
    case .resumed: kind = .resumed
    case .closed: kind = .closed
    case .idle: kind = .idle
    }
    number = event.operation == 0 ? nil : Int(event.operation)
    source = event.label.map { String(cString: $0) }
    if let outcome = event.outcome, event.kind == .ended {
      end = Interaction.End(outcome, event.cause)
    }
  }
}
