import InturnCore

/// How an operation ended, and why.
///
/// Two ends are equal when their outcomes and causes are; errors are not compared.
public struct OperationEnd: Sendable {
  /// The kind of an operation's end.
  public enum Outcome: Sendable {
    /// It did its work, or that was not needed.
    case finished
    /// Its work said so, in its last attempt.
    case failed
    case cancelled
    /// It waited too long for its start, or ran too long.
    case timedOut
    /// Its token was lost, so nobody could have ended it any more.
    case abandoned
    /// Its queue did not accept it. It never ran, and is in no statistics.
    case refused
  }

  /// Why an operation ended, unless its token alone ended it.
  public enum Cause: Sendable {
    /// Somebody cancelled it, or its own work did.
    case request
    /// It was cancelled, and did not give in within its grace time.
    case grace
    /// An operation that it depends on, and needs finished, did not finish.
    case dependency
    /// Its condition said that it is cancelled.
    case condition
    /// Its condition said that it is not needed.
    case skipped
    /// Its key was resolved before its turn.
    case resolved
    /// Its owner has gone away.
    case owner
    /// It had joined another operation, and ended when that did, with the same outcome.
    case joined
    /// Its queue is gone.
    case queueReleased
    /// It did not start in time.
    case maxWait
    /// It did not end in time.
    case maxRun
    /// Its queue is closed.
    case closed
    /// Its queue, or its owner, is full.
    case full
    /// Its queue, or an operation that it depends on, belongs to the process that this one was
    /// forked from.
    case forked
    /// Its kind of queue cannot do what its options ask for.
    case unsupported
  }

  /// The kind of end.
  public let outcome: Outcome
  /// Why; nil when it finished, failed or was abandoned by itself.
  public let cause: Cause?
  /// The error of failed work, or the ``QueueError`` that refused the operation. Nil for other
  /// ends, and where only the engine reports the end; see ``QueueEvent/ended(_:_:)``.
  public let error: (any Error)?

  package init(_ outcome: Outcome, _ cause: Cause? = nil, error: (any Error)? = nil) {
    self.outcome = outcome
    self.cause = cause
    self.error = error
  }

  /// It did its work.
  public static var finished: OperationEnd { OperationEnd(.finished) }
  /// Its work failed with this error.
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
  /// Its queue did not accept it, for this cause.
  public static func refused(_ cause: Cause) -> OperationEnd { OperationEnd(.refused, cause) }

  /// Whether it finished: by its work, by that of the operation that it had joined, or because that
  /// was not needed.
  public var isFinished: Bool { outcome == .finished }
}

extension OperationEnd: Equatable {
  public static func == (left: OperationEnd, right: OperationEnd) -> Bool {
    left.outcome == right.outcome && left.cause == right.cause
  }
}

extension OperationEnd: CustomStringConvertible {
  /// The outcome, with the error or cause in brackets: `timedOut (maxWait)`.
  public var description: String {
    if let error { return "\(outcome) (\(error))" }
    guard let cause, cause != .request else { return "\(outcome)" }
    return "\(outcome) (\(cause))"
  }
}

extension OperationEnd {
  /// An end as reported by the engine.
  package init(_ outcome: InturnCore.Outcome, _ cause: InturnCore.Cause, error: (any Error)? = nil)
  {
    self.init(Outcome(outcome), Cause(cause, of: outcome), error: error)
  }

  /// Whether a condition that says this skips its operation, rather than cancels it.
  package var skips: Bool {
    require(
      self == .skipped || self == .cancelled || self == .cancelled(.condition),
      "A condition says nil, .skipped or .cancelled.")
    return isFinished
  }

  /// The end of an operation that a queue has refused.
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
    case .joined: self = .joined
    case .none, .request:
      if outcome != .cancelled { return nil }
      self = .request
    }
  }
}
