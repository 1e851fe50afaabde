/// A list's decisions, as a value: when its completion is called, and with what.
///
/// Invariants, tested for every reachable state: the completion is called exactly once, when the
/// last operation has ended or at the first error; an error is never taken for a success.
struct BatchMachine: Hashable {
  /// What a list completes with, other than an error.
  enum Completion: Equatable {
    /// The value that was reported last.
    case value
    /// No operation has reported anything.
    case nothing
  }

  /// How many operations have not ended.
  private(set) var remaining: Int
  private(set) var hasValue = false
  private(set) var isCompleted = false

  init(count: Int) { remaining = count }

  /// An operation reports a value. True when it is the latest one so far.
  mutating func reportValue() -> Bool {
    if isCompleted { return false }
    hasValue = true
    return true
  }

  /// An operation reports an error, or all are cancelled. When true, the list completes with that,
  /// and the rest is cancelled.
  mutating func fail() -> Bool {
    if isCompleted { return false }
    isCompleted = true
    return true
  }

  /// An operation has ended. Returns what the list completes with, if it does.
  mutating func end() -> Completion? {
    remaining -= 1
    if remaining > 0 || isCompleted { return nil }
    isCompleted = true
    return hasValue ? .value : .nothing
  }
}
