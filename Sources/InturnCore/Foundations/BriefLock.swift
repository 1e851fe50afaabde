import CInturnSystem
import Synchronization

/// A lock for critical sections of a few dozen instructions.
///
/// It spins, then yields, then naps, and never enters the kernel to hand over: for sections this
/// short, that costs a third of a lock that parks. Whoever comes first takes it, which keeps it
/// where its cache line is. But once a thread has waited until it would nap, threads that have waited
/// for less leave the lock alone. It is not recursive. No user code is ever called while one is
/// held.
@usableFromInline
@frozen
package struct BriefLock: ~Copyable {
  /// 1 while it is held. Acquiring when taken, releasing when released: each holder sees what the
  /// one before it wrote.
  @usableFromInline let word = Atomic<UInt16>(0)
  /// How many threads have waited for long. Relaxed: a thread that sees it late only goes before
  /// them.
  @usableFromInline let impatient = Atomic<UInt16>(0)

  @inlinable
  package init() {}

  @inlinable @inline(__always)
  package borrowing func lock() {
    if !take() { lockSlowly() }
  }

  @inlinable @inline(__always)
  borrowing func take() -> Bool {
    impatient.load(ordering: .relaxed) == 0
      && word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged
  }

  /// The same for a thread that depends on other threads' work. A thread that holds the lock is
  /// likely to take it again at once, and each look in between would steal the cache line of the
  /// lock and its neighbours. So this waits for some microseconds before each look, and both
  /// threads get on faster in turn.
  @inline(__always)
  borrowing func lockPatiently() {
    if !take() { waitPatiently() }
  }

  @inlinable @inline(__always)
  package borrowing func unlock() {
    word.store(0, ordering: .releasing)
  }

  /// Releases the lock after a section that has read a reference to an object which another thread
  /// may drop as soon as it has the lock.
  ///
  /// The optimizer knows that an atomic store releases no object, so it may retain the object only
  /// after the store, when it is first used: too late. It does not know that about this call.
  @inlinable
  package borrowing func unlockAfterReadingObject() {
    BriefLock.objectBarrier()
    unlock()
  }

  @inlinable
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
      if take() { return }
    }
    // The holder may be preempted.
    lockSlowly()
  }

  @inline(never) @usableFromInline
  borrowing func lockSlowly() {
    var backoff = Backoff()
    while word.load(ordering: .relaxed) != 0 || !take() {
      backoff.pause()
      if backoff.isLong && impatient.load(ordering: .relaxed) < UInt16.max / 2 {
        return lockImpatiently(&backoff)
      }
    }
  }

  @inline(never)
  private borrowing func lockImpatiently(_ backoff: inout Backoff) {
    impatient.wrappingAdd(1, ordering: .relaxed)
    repeat {
      while word.load(ordering: .relaxed) != 0 { backoff.pause() }
    } while !word.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged
    impatient.wrappingSubtract(1, ordering: .relaxed)
  }
}

/// What a thread does between two looks at something that another thread is about to change.
package struct Backoff {
  private var round: UInt32 = 0

  package init() {}

  /// Whether the other thread has had only little time so far.
  package var isShort: Bool { round < 128 }

  /// Whether each further pause is a nap.
  package var isLong: Bool { round >= 256 }

  package mutating func pause() {
    round &+= 1
    if round <= 64 {
      inturn_system_pause()
    } else if round <= 256 {
      sched_yield()
    } else {
      // The thread that is waited for was preempted. Sleeping lets it run, whatever its priority.
      var request = timespec(tv_sec: 0, tv_nsec: 50_000)
      nanosleep(&request, nil)
    }
  }
}
