import InturnCore

/// How an operation ended, and why.
///
/// Two ends are equal when their outcomes and causes are; errors are not compared.
public struct OperationEnd: Sendable {
  /// What an operation's end amounts to.
  public enum Outcome: Sendable {
    /// It did what it was to do, or that was not needed.
    case finished
    /// Its work said so, in its last attempt.
    case failed
    case cancelled
    /// It waited for its start, or ran, too long.
    case timedOut
    /// Its token was lost: nobody could have ended it any more.
    case abandoned
    /// Its queue has not accepted it. It never ran, and is in no statistics.
    case refused
  }

  /// Why an operation ended otherwise than by its token alone.
  public enum Cause: Sendable {
    /// Somebody cancelled it, or its own work did.
    case request
    /// It was cancelled, and did not give in within its grace time.
    case grace
    /// One of those that it comes after did not finish, and it needs that.
    case dependency
    /// Its condition said ``Verdict/giveUp``.
    case condition
    /// Its condition said ``Verdict/skip``.
    case skipped
    /// Its key was resolved before its turn.
    case resolved
    /// Its owner has gone away.
    case owner
    /// Its queue is gone.
    case queueReleased
    /// The time for its start was over.
    case maxWait
    /// The time for its end was over.
    case maxRun
    /// Its queue is closed.
    case closed
    /// Its queue, or its owner, has as many as it may have.
    case full
    /// Its queue, or what it comes after, is of the process that this one was forked from.
    case forked
    /// Its kind of queue cannot do what its options ask for.
    case unsupported
  }

  /// What it amounts to.
  public let outcome: Outcome
  /// Why; nil for one that finished, failed or was abandoned by itself.
  public let cause: Cause?
  /// What a failed one's work has failed with; the ``QueueError`` that refused a refused one. Nil
  /// for others, and where only the engine tells of the end, as in a ``QueueEvent``.
  public let error: (any Error)?

  package init(_ outcome: Outcome, _ cause: Cause? = nil, error: (any Error)? = nil) {
    self.outcome = outcome
    self.cause = cause
    self.error = error
  }

  /// It did what it was to do.
  public static var finished: OperationEnd { OperationEnd(.finished) }
  /// Its work said so.
  public static func failed(_ error: any Error) -> OperationEnd {
    OperationEnd(.failed, error: error)
  }
  /// It was cancelled, for this cause.
  public static func cancelled(_ cause: Cause) -> OperationEnd { OperationEnd(.cancelled, cause) }
  /// It was cancelled by request.
  public static var cancelled: OperationEnd { OperationEnd(.cancelled, .request) }
  /// It was cut off, for this cause: ``Cause/maxWait`` or ``Cause/maxRun``.
  public static func timedOut(_ cause: Cause) -> OperationEnd { OperationEnd(.timedOut, cause) }
  /// Its token was lost.
  public static var abandoned: OperationEnd { OperationEnd(.abandoned) }
  /// Its condition said that it was not needed.
  public static var skipped: OperationEnd { OperationEnd(.finished, .skipped) }
  /// Its key was resolved before its turn.
  public static var resolved: OperationEnd { OperationEnd(.finished, .resolved) }
  /// Its queue has not accepted it, for this cause.
  public static func refused(_ cause: Cause) -> OperationEnd { OperationEnd(.refused, cause) }

  /// Whether it finished, by its work or because that was not needed.
  public var isFinished: Bool { outcome == .finished }
}

extension OperationEnd: Equatable {
  public static func == (left: OperationEnd, right: OperationEnd) -> Bool {
    left.outcome == right.outcome && left.cause == right.cause
  }
}

extension OperationEnd: CustomStringConvertible {
  /// The outcome, and what there is to say of it in brackets: `timedOut (maxWait)`.
  public var description: String {
    if let error { return "\(outcome) (\(error))" }
    guard let cause, cause != .request else { return "\(outcome)" }
    return "\(outcome) (\(cause))"
  }
}

extension OperationEnd {
  /// What the engine says of an end.
  package init(_ outcome: InturnCore.Outcome, _ cause: InturnCore.Cause, error: (any Error)? = nil)
  {
    self.init(Outcome(outcome), Cause(cause, of: outcome), error: error)
  }

  /// Why a queue has not accepted an operation.
  package init(refusal error: QueueError) { self.init(.refused, error.cause, error: error) }
}

extension OperationEnd.Outcome {
  fileprivate init(_ outcome: InturnCore.Outcome) {
    switch outcome {
    case .finished: self = .finished
    case .failed: self = .failed
    case .cancelled: self = .cancelled
    case .timedOut: self = .timedOut
    case .abandoned: self = .abandoned
    }
  }
}

extension OperationEnd.Cause {
  fileprivate init?(_ cause: InturnCore.Cause, of outcome: InturnCore.Outcome) {
    switch cause {
    case .grace: self = .grace
    case .destroyed: self = .queueReleased
    case .maxWait: self = .maxWait
    case .maxRun: self = .maxRun
    case .dependency: self = .dependency
    case .skipped: self = .skipped
    case .condition: self = .condition
    case .resolved: self = .resolved
    case .owner: self = .owner
    case .none, .request, .joined:
      // An end that was joined is that of the other operation.
      if outcome != .cancelled { return nil }
      self = .request
    }
  }
}
