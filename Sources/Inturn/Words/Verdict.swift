/// What a condition says, just before the operation would start.
public enum Verdict: Sendable {
  /// It starts now.
  case start
  /// It is not needed any more: it ends as ``OperationEnd/skipped``.
  case skip
  /// It cannot be done: it ends as cancelled.
  case giveUp
}
