/// What a condition decides just before its operation would start.
public enum Verdict: Sendable {
  /// Start the operation now.
  case start
  /// It is no longer needed: it ends as ``OperationEnd/skipped``.
  case skip
  /// It cannot be done: it ends as cancelled.
  case giveUp
}
