import CInturnSystem
import Synchronization

/// A clock whose thread cannot be started is served by those who wait in the library: each of them
/// tries again to start it, and otherwise fires what is due and sleeps until the next deadline.
extension Clock {
  /// Threads that sleep in waits of the library.
  final class StandIns: @unchecked Sendable {
    // Safe to share: `lock` protects the list.

    struct StandIn {
      let word: UnsafeMutablePointer<Atomic<UInt32>>
      fileprivate var previous: UnsafeMutablePointer<StandIn>?
      fileprivate var next: UnsafeMutablePointer<StandIn>?
    }

    /// Protects the list, and orders the looks at `isThreadOwed`: who joins after `wakeAll` finds it
    /// set, who has joined before is woken.
    private let lock = BriefLock()
    @exclusivity(unchecked) private var first: UnsafeMutablePointer<StandIn>?

    fileprivate func join(_ standIn: UnsafeMutablePointer<StandIn>) {
      lock.lock()
      standIn.pointee.next = first
      first?.pointee.previous = standIn
      first = standIn
      lock.unlock()
    }

    fileprivate func leave(_ standIn: UnsafeMutablePointer<StandIn>) {
      lock.lock()
      let (previous, next) = (standIn.pointee.previous, standIn.pointee.next)
      next?.pointee.previous = previous
      if let previous { previous.pointee.next = next } else { first = next }
      lock.unlock()
    }

    /// Makes each of them look. Words count wake-ups, or have a meaning in their lowest bit only.
    func wakeAll() {
      lock.lock()
      var next = first
      while let standIn = next {
        standIn.pointee.word.pointee.wrappingAdd(2, ordering: .releasing)
        standIn.pointee.word.wakeAll()
        next = standIn.pointee.next
      }
      lock.unlock()
    }
  }

  fileprivate func sleep(
    on word: UnsafeMutablePointer<Atomic<UInt32>>, while value: UInt32, timeoutNanoseconds: Int64
  ) {
    var standIn = StandIns.StandIn(word: word)
    withUnsafeMutablePointer(to: &standIn) { standIn in
      standIns.join(standIn)
      word.wait(while: value, timeoutNanoseconds: serve(atMost: timeoutNanoseconds))
      standIns.leave(standIn)
    }
  }

  /// Does what the clock's thread would have to do now, if there is none, and gives how long the
  /// caller may sleep.
  private func serve(atMost nanoseconds: Int64) -> Int64 {
    if !isThreadOwed.load(ordering: .relaxed) || ensureThread() { return nanoseconds }
    fireDue(upTo: inturn_system_now())
    guard let pause = pauseUntilNext else { return nanoseconds }
    return nanoseconds < 0 ? pause : min(pause, nanoseconds)
  }
}

extension UnsafeMutablePointer<Atomic<UInt32>> {
  /// Sleeps as `wait` does, in a wait of any length, and stands in for a clock without a thread
  /// meanwhile. Not to be called under a lock. The word may change by more than the caller's own
  /// wake-ups: by a multiple of 2.
  func sleep(while value: UInt32, timeoutNanoseconds: Int64, standingInFor clock: Clock? = nil) {
    let clock = clock ?? Engine.current.pointee.systemClock
    clock.sleep(on: self, while: value, timeoutNanoseconds: timeoutNanoseconds)
  }
}
