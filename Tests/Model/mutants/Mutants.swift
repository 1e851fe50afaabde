import CInturnSystem
import Synchronization

// The calls that mutants.py has rewritten go to these: each does what the original does, unless its
// number is that of the mutant under test.

extension Atomic {
  /// Without its check, the exchange always happens.
  package func compareExchange(
    mutant: Int32, expected: Value, desired: Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    if inturn_model_is(mutant) { return (true, exchange(desired, ordering: ordering)) }
    return compareExchange(expected: expected, desired: desired, ordering: ordering)
  }

  package func weakCompareExchange(
    mutant: Int32, expected: Value, desired: Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    if inturn_model_is(mutant) { return (true, exchange(desired, ordering: ordering)) }
    return weakCompareExchange(expected: expected, desired: desired, ordering: ordering)
  }

  package func compareExchange(
    mutant: Int32, expected: Value, desired: Value,
    successOrdering: AtomicUpdateOrdering, failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    if inturn_model_is(mutant) { return (true, exchange(desired, ordering: successOrdering)) }
    return compareExchange(
      expected: expected, desired: desired,
      successOrdering: successOrdering, failureOrdering: failureOrdering)
  }

  package func weakCompareExchange(
    mutant: Int32, expected: Value, desired: Value,
    successOrdering: AtomicUpdateOrdering, failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    if inturn_model_is(mutant) { return (true, exchange(desired, ordering: successOrdering)) }
    return weakCompareExchange(
      expected: expected, desired: desired,
      successOrdering: successOrdering, failureOrdering: failureOrdering)
  }
}

extension BriefLock {
  var address: UnsafeRawPointer { withUnsafePointer(to: word) { UnsafeRawPointer($0) } }

  /// A lock that is not taken is not released either.
  borrowing func lock(mutant: Int32) {
    if inturn_model_is(mutant) { inturn_model_lock_nothing(address) } else { lock() }
  }

  borrowing func lockPatiently(mutant: Int32) {
    if inturn_model_is(mutant) { inturn_model_lock_nothing(address) } else { lockPatiently() }
  }

  borrowing func withLock<Result>(mutant: Int32, _ body: () -> Result) -> Result {
    lock(mutant: mutant)
    defer { unlockAfterReadingObject() }
    return body()
  }
}
