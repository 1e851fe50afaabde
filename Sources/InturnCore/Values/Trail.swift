import Synchronization

/// A value that many threads read and change, with a complete sequence of its changes.
///
/// Changes are numbered. Each observer is told every change after it began to observe, in the order
/// of the numbers: each old value is the new value of the change before. No observer is called
/// under the lock. A change returns when its observers have been told, with two exceptions: another
/// thread is telling them of earlier changes, or the caller is inside one of them. The delivering
/// thread then tells them of this change, too. So no change ever waits for another thread.
///
/// Objects that have values of their own embed a trail. `stage` changes the value under the owner's
/// lock, and `deliver` tells of it afterwards.
@usableFromInline
package final class Trail<Value>: TrailBase, @unchecked Sendable {
  // Safe to share: `lock` protects `stored` and `machine`, and everything else that changes is
  // atomic. Owners make sure that a value that is not Sendable stays on one thread.

  /// The bits of a value of two to sixteen words; see `ValueBits`.
  @usableFromInline let words: UnsafeMutablePointer<Atomic<UInt64>>?
  @exclusivity(unchecked) @usableFromInline var machine = TrailMachine<Value>()
  @exclusivity(unchecked) @usableFromInline var stored: Value

  @usableFromInline
  package init(_ value: Value, label: Text? = nil) {
    stored = value
    words = ValueBits<Value>.areWords ? ValueBits<Value>.makeWords(value) : nil
    super.init(word: ValueBits<Value>.areWord ? ValueBits<Value>.word(value) : 0, label: label)
  }

  override func queues(for wait: TrailWait) -> [Handle] {
    lock.lock()
    defer { lock.unlock() }
    return machine.places.compactMap {
      let isMeant =
        switch wait {
        case .call(let id): $0.isRunning && $0.id == id
        case .calls: $0.isRunning
        case .told(let number): $0.hasMail(number)
        case .mail: false
        }
      if !isMeant { return nil }
      return $0.observer.observer(of: Value.self)._withUnsafeGuaranteedRef { $0.queue }
    }
  }

  deinit {
    // Nobody else knows the trail any more, so nobody is delivering.
    for place in machine.places { release(place) }
    words?.deallocate()
  }
}
