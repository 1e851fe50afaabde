/// Why there is no value of an operation.
public enum AsyncOperationError: Error, Equatable {
  /// The operation has not ended yet.
  case notEnded
  /// It ended as cancelled.
  case cancelled
  /// Its finish callback or token went away uncalled.
  case abandoned
  /// It finished without saying with what.
  case noResult
}
