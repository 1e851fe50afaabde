/// Why a queue did not do what it was asked to.
///
/// An operation that was cancelled before its start throws `CancellationError` instead.
public enum QueueError: Error, Equatable, Sendable {
  /// The operation would wait for itself, round the ring of queues that the message names.
  case deadlock(String)
  /// As many operations are pending as the queue's capacity allows.
  case full
  /// The queue accepts no more operations.
  case closed
  /// The operation had to wait longer for its start than its limits allow. It has not run.
  case waitedTooLong
  /// The operation ran longer than its limits allow.
  case ranTooLong
  /// The actor queue has no actor: none was adopted, or it is gone.
  case noActor
  /// The queue was made before the process was forked, in the parent.
  case forked
}

extension QueueError: CustomStringConvertible {
  /// What is wrong, in one line.
  public var description: String {
    switch self {
    case .deadlock(let message): message
    case .full: "The queue is full: await `enqueueWhenRoom` or `run`, or give it more capacity."
    case .closed: "The queue is closed."
    case .waitedTooLong: "The operation waited longer for its start than its limits allow."
    case .ranTooLong: "The operation ran longer than its limits allow."
    case .noActor:
      "The actor queue has no actor: create it with `ActorQueue(of: actor)`, or call "
        + "`adoptExecutionContext(of: self)` in the actor's `init`, and let it not outlive the actor."
    case .forked: "The queue was made before a fork, in the parent process."
    }
  }
}
