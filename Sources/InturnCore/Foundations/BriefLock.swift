import CInturnSystem
import Synchronization

/// A lock for critical sections of a few dozen instructions.
///
/// It spins, then yields, then sleeps for ever longer, and never enters the kernel to hand over:
/// for sections this short that costs a third of a lock that parks. It is not fair and not
/// recursive. No user code is ever called while one is held.
@usableFromInline
package struct BriefLock: ~Copyable {
  /// 1 while it is held. Taken with acquiring, given back with releasing order: what one holder
  /// wrote, the next one reads.
  @usableFromInline let word = Atomic<UInt32>(0)

  @inlinable
  package init() {}

  @inlinable @inline(__always)
  package borrowing func lock() {
    if !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged {
      lockSlowly()
    }
  }

  /// The same for a thread that only gets on with what others bring. When one of them has the lock,
  /// it is likely to be back for it at once, and each look in between would take the lock's cache
  /// line, and with it all that lies there, from under its hands. So this waits for some
  /// microseconds before each look: both get on faster, one after the other.
  @inline(__always)
  borrowing func lockPatiently() {
    if !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged {
      waitPatiently()
    }
  }

  @inlinable @inline(__always)
  package borrowing func unlock() {
    word.store(0, ordering: .releasing)
  }

  /// Gives the lock up after a section that has read a reference to an object which another thread
  /// may drop as soon as it has the lock.
  ///
  /// The optimizer knows that an atomic store releases nothing, and may retain such an object
  /// only after it, when it is first used: too late. It does not know that of this call.
  @inlinable
  package borrowing func unlockAfterReadingObject() {
    BriefLock.objectBarrier()
    unlock()
  }

  package borrowing func withLock<Result>(_ body: () -> Result) -> Result {
    lock()
    defer { unlockAfterReadingObject() }
    return body()
  }

  @usableFromInline
  static func objectBarrier() { inturn_system_object_barrier() }

  @inline(never)
  private borrowing func waitPatiently() {
    for _ in 0..<16 {
      inturn_system_spin(3_000)
      if word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { return }
    }
    // The holder may have been preempted.
    lockSlowly()
  }

  @inline(never) @usableFromInline
  borrowing func lockSlowly() {
    var backoff = Backoff()
    repeat {
      while word.load(ordering: .relaxed) != 0 { backoff.pause() }
    } while !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged
  }
}

/// What a thread does between two looks at something that another thread is about to change.
package struct Backoff {
  private var round: UInt32 = 0

  package init() {}

  /// Whether the other thread has had but little time so far.
  package var isShort: Bool { round < 128 }

  package mutating func pause() {
    round &+= 1
    if round <= 64 {
      inturn_system_pause()
    } else if round <= 256 {
      sched_yield()
    } else {
      // Whoever is waited for was preempted. Sleeping lets it run, whatever its priority.
      var request = timespec(tv_sec: 0, tv_nsec: 50_000)
      nanosleep(&request, nil)
    }
  }
}
