import ConcurrentKVO
import Dispatch
import Synchronization

/// A value that is read and changed by many threads.
protocol SharedValue<T>: Sendable {
  associatedtype T
  init(_ value: T)
  func get() -> T
  func set(_ value: T)
}

struct InturnValue<T: Sendable>: SharedValue {
  let value: ConcurrentKVO<T>
  init(_ value: T) { self.value = ConcurrentKVO(value) }
  @inline(never) func get() -> T { value.value }
  @inline(never) func set(_ new: T) { value.value = new }
}

struct LockedInturnValue<T: Sendable>: SharedValue {
  let value: RWLockedValue<T>
  init(_ value: T) { self.value = RWLockedValue(value) }
  @inline(never) func get() -> T { value.value }
  @inline(never) func set(_ new: T) { value.value = new }
}

final class MutexValue<T: Sendable>: SharedValue {
  let value: Mutex<T>
  init(_ value: T) { self.value = Mutex(value) }
  @inline(never) func get() -> T { value.withLock { $0 } }
  @inline(never) func set(_ new: T) { value.withLock { $0 = new } }
}

/// The lowest possible cost of a read. For integers only.
final class AtomicValue: SharedValue {
  let value: Atomic<Int>
  init(_ value: Int) { self.value = Atomic(value) }
  @inline(never) func get() -> Int { value.load(ordering: .relaxed) }
  @inline(never) func set(_ new: Int) { value.store(new, ordering: .relaxed) }
}

/// Readers may enter together, writers one at a time: a concurrent queue and its barriers.
final class DispatchValue<T: Sendable>: SharedValue, @unchecked Sendable {
  // Safe to share: the queue protects `value`.
  private let queue = DispatchQueue(label: "value", attributes: .concurrent)
  private var value: T
  init(_ value: T) { self.value = value }
  @inline(never) func get() -> T { queue.sync { value } }
  @inline(never) func set(_ new: T) { queue.async(flags: .barrier) { self.value = new } }
}
