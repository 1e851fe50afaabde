/// What a list of operations decides, as a value: when its completion is called, and with what.
///
/// What is to be upheld, and tested for every reachable state: the completion is called exactly
/// once, when the last operation has ended or at the first error, and an error is never taken for a
/// success.
struct BatchMachine: Hashable {
  /// With what a list completes, other than an error.
  enum Completion: Equatable {
    /// The value that was reported last.
    case value
    /// No operation has reported anything.
    case nothing
  }

  /// Operations that have not ended.
  private(set) var remaining: Int
  private(set) var hasValue = false
  private(set) var isCompleted = false

  init(count: Int) { remaining = count }

  /// An operation reports a value. True: it is the last one so far.
  mutating func reportValue() -> Bool {
    if isCompleted { return false }
    hasValue = true
    return true
  }

  /// An operation reports an error, or all are cancelled. True: the list completes with that, and
  /// the rest is cancelled.
  mutating func fail() -> Bool {
    if isCompleted { return false }
    isCompleted = true
    return true
  }

  /// An operation has ended. With what the list completes, if it does.
  mutating func end() -> Completion? {
    remaining -= 1
    if remaining > 0 || isCompleted { return nil }
    isCompleted = true
    return hasValue ? .value : .nothing
  }
}
