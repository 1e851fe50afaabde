import InturnCore

/// Why a queue did not do what it was asked to, or why there is no value.
///
/// A throwing call whose task is cancelled before the start throws `CancellationError` instead.
public enum QueueError: Error, Equatable, Sendable {
  /// The queue, or the owner, is full.
  case full
  /// The queue accepts no more operations.
  case closed
  /// The owner is gone.
  case ownerGone
  /// The actor queue has no actor: it has adopted none, or the actor is gone.
  case noActor
  /// The queue was created before the process was forked, in the parent.
  case forked
  /// This kind of queue cannot do what the options ask for; the text says what.
  case unsupported(String)
  /// A wait that could never have ended was refused; the text names the ring of waits.
  case deadlock(String)
  /// The operation ended in this way and has no value.
  case ended(OperationEnd)
  /// The operation has not ended yet, or has finished without a value.
  case noValue
}

extension QueueError: CustomStringConvertible {
  /// What is wrong, in one line, and what to do if that is known.
  public var description: String {
    switch self {
    case .full:
      "The queue, or the owner, is full: wait until something has ended, or give it more capacity."
    case .closed: "The queue is closed."
    case .ownerGone: "The operation's owner is gone."
    case .noActor:
      "The actor queue has no actor: create it with `ActorQueue(of: actor)`, or call "
        + "`adoptExecutionContext(of: self)` in the actor's `init`, and let it not outlive the actor."
    case .forked: "The queue was made before a fork, in the parent process."
    case .unsupported(let what): what
    case .deadlock(let ring): ring
    case .ended(let end): "The operation has no value: it ended as \(end)."
    case .noValue: "The operation has no value: it has not ended, or finished without one."
    }
  }
}

extension QueueError {
  /// The error for a refusal by the engine.
  package init(_ status: Status) {
    switch status {
    case .full: self = .full
    case .closed: self = .closed
    case .forked: self = .forked
    // Of all that an operation refers to, only its owner can be gone.
    case .stale: self = .ownerGone
    case .unsupported:
      self = .unsupported(
        "This kind of queue has no such option: OperationOptions says which queues have priorities,"
          + " barriers and urgent operations."
      )
    default: fatalError("Inturn: a queue gave status \(status.rawValue)")
    }
  }

  /// The cause for the end of an operation that is refused with this error.
  var cause: OperationEnd.Cause {
    switch self {
    case .full: .full
    case .closed: .closed
    case .forked: .forked
    case .ownerGone, .noActor: .owner
    case .unsupported, .deadlock, .ended, .noValue: .unsupported
    }
  }
}
