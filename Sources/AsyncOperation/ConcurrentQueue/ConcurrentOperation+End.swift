import InturnCore

extension ConcurrentOperation {
  /// How an operation ended.
  public enum End: Sendable {
    /// It did what it was to do.
    case finished
    /// Its condition said that it was not needed.
    case skipped
    /// Its key was resolved before its turn.
    case resolved
    /// Its work said so, in its last attempt.
    case failed(any Error)
    case cancelled(Cause)
    /// It waited for its start, or ran, too long.
    case timedOut(Deadline)
    /// Its token was lost: nobody could have ended it any more.
    case abandoned

    /// Why an operation was cancelled.
    public enum Cause: Sendable {
      /// Somebody cancelled it, or its own work did.
      case request
      /// It did not give in within its grace time.
      case grace
      /// One of its dependencies did not finish, and it needs that.
      case dependency
      /// Its condition said so.
      case condition
      /// Its owner has gone away.
      case owner
      /// Its queue did not accept it: it is closed.
      case queueClosed
      /// Its queue, or its owner, has as many as it may have.
      case full
      /// Its queue, or what it depends on, is of the process that this one was forked from.
      case forked

      init(refusal: Status) {
        switch refusal {
        case .full: self = .full
        case .closed: self = .queueClosed
        case .forked: self = .forked
        // Of what an operation is enqueued with, only an owner can be gone.
        case .stale: self = .owner
        default:
          preconditionFailure("An operation could not be enqueued: status \(refusal.rawValue).")
        }
      }
    }

    /// Which time was over: that for the start, or that for the end.
    public enum Deadline: Sendable { case maximumWait, maximumRun }

    /// Whether it finished, by its work or because that was not needed.
    public var isFinished: Bool {
      switch self {
      case .finished, .skipped, .resolved: true
      case .failed, .cancelled, .timedOut, .abandoned: false
      }
    }

    init(_ end: OperationEnd, _ box: OutcomeBox?) {
      switch (end.outcome, end.cause) {
      case (.finished, .skipped): self = .skipped
      case (.finished, .resolved): self = .resolved
      case (.finished, _): self = .finished
      case (.failed, _):
        // Each failure is given its error; see `ConcurrentToken.fail(_:)`.
        self = .failed((box as! ErrorBox).error)
      case (.timedOut, .maxWait): self = .timedOut(.maximumWait)
      case (.timedOut, _): self = .timedOut(.maximumRun)
      case (.abandoned, _): self = .abandoned
      case (.cancelled, .grace): self = .cancelled(.grace)
      case (.cancelled, .dependency): self = .cancelled(.dependency)
      case (.cancelled, .condition): self = .cancelled(.condition)
      case (.cancelled, .owner): self = .cancelled(.owner)
      case (.cancelled, _): self = .cancelled(.request)
      }
    }
  }
}

/// Why an operation has given no value.
public struct ConcurrentOperationError: Error, Sendable {
  /// How it ended instead.
  public let end: ConcurrentOperation.End
}

/// What an operation has ended with. The engine keeps it for those that have joined the operation.
class OutcomeBox: @unchecked Sendable {
  // Safe to share: the subclasses have constants only.

  static let drop: RawDestroy = { Unmanaged<OutcomeBox>.fromOpaque($0!).release() }

  /// A context with a reference, which `drop` gives back.
  var asContext: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }
}

final class ValueBox<Value: Sendable>: OutcomeBox, @unchecked Sendable {
  // Safe to share: the value is a constant.

  let value: Value
  init(_ value: Value) { self.value = value }
}

final class ErrorBox: OutcomeBox, @unchecked Sendable {
  // Safe to share: the error is a constant.

  let error: any Error
  init(_ error: any Error) { self.error = error }
}
