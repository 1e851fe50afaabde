import CInturnSystem
import Synchronization

/// What all trails have, whatever the type of the value.
@usableFromInline
package class TrailBase: @unchecked Sendable {
  // Safe to share: what `Trail` says.

  /// Protects the value, its machine, `isAwaited` and `holder`.
  @usableFromInline final let lock = BriefLock()
  /// The bits of a value that is at most one word. Written under the lock, with releasing order;
  /// read with acquiring order and without the lock.
  @usableFromInline final let word: Atomic<UInt64>
  /// What reports call it.
  package final let label: String?
  /// Counts wake-ups of those who wait for a call's end, or for everybody to have been told.
  final let wakeups = WakeWord.make()
  /// Whether somebody sleeps on `wakeups`, or is about to.
  @exclusivity(unchecked) @usableFromInline final var isAwaited = false

  /// The thread that changes the value in place, see `beginInPlace`; zero: none does.
  @exclusivity(unchecked) @usableFromInline final var holder: UInt = 0

  @usableFromInline
  init(word: UInt64, label: String?) {
    self.word = Atomic(word)
    self.label = label
  }

  deinit { wakeups.deallocate() }

  /// Wakes those who sleep on `wakeups`.
  @usableFromInline
  final func wakeLocked() {
    isAwaited = false
    wakeups.advance()
  }

  /// Takes the lock, for a change: when nobody changes the value in place.
  @inlinable @inline(__always)
  final func lockForChange() {
    lock.lock()
    if holder != 0 { waitForHolderLocked() }
  }

  @usableFromInline
  final func waitForHolderLocked() {
    precondition(
      holder != Self.thisThread,
      "A value cannot be changed in the middle of a change in place of its own, such as that of"
        + " `value += f()`, where `f` sets the value. Use `modify`, or set it before or after.")
    // It mostly takes a moment only.
    var backoff = Backoff()
    while holder != 0 {
      if backoff.isShort {
        lock.unlock()
        backoff.pause()
        lock.lock()
        continue
      }
      isAwaited = true
      let seen = wakeups.pointee.load(ordering: .relaxed)
      lock.unlock()
      wakeups.wait(while: seen)
      lock.lock()
    }
  }

  @usableFromInline
  static var thisThread: UInt { UInt(inturn_system_thread()) }

  var describedForReports: String { Report.describe(value: label) }
}
