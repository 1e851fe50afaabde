/// Why a list of operations has no value.
public enum SynchronousOperationQueueError: Error {
  /// All operations have ended, and none has reported anything.
  case neverExecuted
}
