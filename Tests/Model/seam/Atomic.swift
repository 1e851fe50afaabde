import CInturnSystem
import Synchronization

/// Stands in for `Synchronization.Atomic` when the engine is built for the model: each access is a
/// point at which the scheduler may run another thread. The access itself is the processor's, in the
/// order that the engine asks for, so that ThreadSanitizer judges that order. None of this is inlined
/// into the engine's functions, which cuts a third of the time to compile them.
@usableFromInline
package struct Atomic<Value: AtomicRepresentable>: ~Copyable {
  @usableFromInline let storage: Synchronization.Atomic<Value>

  @usableFromInline package init(_ value: Value) { storage = Synchronization.Atomic(value) }

  /// An atomic never moves.
  private var address: UnsafeMutableRawPointer {
    withUnsafePointer(to: storage) { UnsafeMutableRawPointer(mutating: UnsafeRawPointer($0)) }
  }

  private static var size: UInt32 { UInt32(MemoryLayout<Value>.size) }

  /// Performs an access whose operand and result are the bits of a value.
  private func access(
    _ kind: inturn_model_access, _ operand: Value, _ order: Int32
  ) -> Value {
    withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { result in
      withUnsafePointer(to: operand) {
        inturn_model_atomic(kind, address, Self.size, $0, result.baseAddress!, order)
      }
      return result.baseAddress!.move()
    }
  }

  @inline(never) @usableFromInline
  package func load(ordering: AtomicLoadOrdering) -> Value {
    withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { result in
      inturn_model_atomic(
        INTURN_MODEL_LOAD, address, Self.size, nil, result.baseAddress!, ordering.number)
      return result.baseAddress!.move()
    }
  }

  @inline(never) @usableFromInline
  package func store(_ value: Value, ordering: AtomicStoreOrdering) {
    _ = access(INTURN_MODEL_STORE, value, ordering.number)
  }

  @inline(never) @usableFromInline
  package func exchange(_ value: Value, ordering: AtomicUpdateOrdering) -> Value {
    access(INTURN_MODEL_EXCHANGE, value, ordering.number)
  }

  @inline(never) @usableFromInline
  package func compareExchange(
    expected: Value, desired: Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected, desired, ordering.number, ordering.numberOfFailure)
  }

  @inline(never) @usableFromInline
  package func compareExchange(
    expected: Value, desired: Value,
    successOrdering: AtomicUpdateOrdering, failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    compareExchange(expected, desired, successOrdering.number, failureOrdering.number)
  }

  @inline(never) @usableFromInline
  package func weakCompareExchange(
    expected: Value, desired: Value, ordering: AtomicUpdateOrdering
  ) -> (exchanged: Bool, original: Value) {
    weakCompareExchange(expected, desired, ordering.number, ordering.numberOfFailure)
  }

  @inline(never) @usableFromInline
  package func weakCompareExchange(
    expected: Value, desired: Value,
    successOrdering: AtomicUpdateOrdering, failureOrdering: AtomicLoadOrdering
  ) -> (exchanged: Bool, original: Value) {
    weakCompareExchange(expected, desired, successOrdering.number, failureOrdering.number)
  }

  /// Fails spuriously if the scheduler says so.
  private func weakCompareExchange(
    _ expected: Value, _ desired: Value, _ success: Int32, _ failure: Int32
  ) -> (exchanged: Bool, original: Value) {
    if inturn_model_fails_weakly() {
      return (false, load(ordering: .relaxed))
    }
    return compareExchange(expected, desired, success, failure)
  }

  private func compareExchange(
    _ expected: Value, _ desired: Value, _ success: Int32, _ failure: Int32
  ) -> (exchanged: Bool, original: Value) {
    var original = expected
    let exchanged = withUnsafeMutablePointer(to: &original) { original in
      withUnsafePointer(to: desired) {
        inturn_model_compare_exchange(address, Self.size, original, $0, success, failure)
      }
    }
    return (exchanged, original)
  }
}

extension Atomic: @unchecked Sendable where Value: Sendable {}

extension Atomic where Value: FixedWidthInteger {
  @discardableResult
  @inline(never) @usableFromInline
  package func wrappingAdd(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = access(INTURN_MODEL_ADD, operand, ordering.number)
    return (old, old &+ operand)
  }

  @discardableResult
  @inline(never) @usableFromInline
  package func wrappingSubtract(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = access(INTURN_MODEL_SUBTRACT, operand, ordering.number)
    return (old, old &- operand)
  }

  @discardableResult
  @inline(never) @usableFromInline
  package func max(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    while true {
      let old = load(ordering: .relaxed)
      let new = Swift.max(old, operand)
      if compareExchange(expected: old, desired: new, ordering: ordering).exchanged {
        return (old, new)
      }
    }
  }

  @discardableResult
  @inline(never) @usableFromInline
  package func bitwiseOr(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = access(INTURN_MODEL_OR, operand, ordering.number)
    return (old, old | operand)
  }

  @discardableResult
  @inline(never) @usableFromInline
  package func bitwiseAnd(
    _ operand: Value, ordering: AtomicUpdateOrdering
  ) -> (oldValue: Value, newValue: Value) {
    let old = access(INTURN_MODEL_AND, operand, ordering.number)
    return (old, old & operand)
  }
}

// C's numbers for the orderings.

extension AtomicLoadOrdering {
  fileprivate var number: Int32 {
    self == .relaxed ? 0 : self == .acquiring ? 2 : 5
  }
}

extension AtomicStoreOrdering {
  fileprivate var number: Int32 {
    self == .relaxed ? 0 : self == .releasing ? 3 : 5
  }
}

extension AtomicUpdateOrdering {
  fileprivate var number: Int32 {
    switch self {
    case .relaxed: 0
    case .acquiring: 2
    case .releasing: 3
    case .acquiringAndReleasing: 4
    default: 5
    }
  }

  /// A compare-exchange that fails only loads.
  fileprivate var numberOfFailure: Int32 {
    switch self {
    case .relaxed, .releasing: 0
    case .acquiring, .acquiringAndReleasing: 2
    default: 5
    }
  }
}

// Functions of the C library that the engine waits with, of which the scheduler has to know.

@discardableResult
func sched_yield() -> Int32 {
  inturn_system_pause()
  return 0
}

@discardableResult
func nanosleep(
  _ request: UnsafePointer<timespec>, _ rest: UnsafeMutablePointer<timespec>?
) -> Int32 {
  inturn_model_sleep(Int64(request.pointee.tv_sec) * 1_000_000_000 + Int64(request.pointee.tv_nsec))
  return 0
}
