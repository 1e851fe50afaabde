import CInturnSystem
import Synchronization

/// The part of a trail that does not depend on the value's type.
@usableFromInline
package class TrailBase: @unchecked Sendable {
  // Safe to share: see `Trail`.

  /// Protects the value, its machine, `isAwaited`, `holder` and `holderOnlyWatches`.
  @usableFromInline final let lock = BriefLock()
  /// The bits of a value of one word at most. Written under the lock, with releasing order; read
  /// without the lock, with acquiring order.
  @usableFromInline final let word: Atomic<UInt64>
  /// Its name in reports.
  package final let label: Text?
  /// Counts wake-ups of threads that wait for a call to end, or for everybody to have been told.
  final let wakeups = WakeWord.make()
  /// Whether a thread sleeps on `wakeups`, or is about to.
  @exclusivity(unchecked) @usableFromInline final var isAwaited = false

  /// The thread that is changing the value in place, see `beginInPlace`; zero for none.
  @exclusivity(unchecked) @usableFromInline final var holder: UInt = 0
  /// Whether the holder is to change nothing, and holds nobody else up: see `beginWatch`.
  @exclusivity(unchecked) final var holderOnlyWatches = false

  @usableFromInline
  init(word: UInt64, label: Text?) {
    self.word = Atomic(word)
    self.label = label
  }

  deinit { wakeups.deallocate() }

  /// Wakes the threads that sleep on `wakeups`.
  @usableFromInline
  final func wakeLocked() {
    isAwaited = false
    wakeups.advance()
  }

  /// Sleeps while `wakeups` has this value, or for less. An observer that blocks may be in no queue
  /// where the watchdog would see it. If there can be no watchdog, the sleeper comes back to ask for it
  /// again: nobody else may.
  @inline(never)
  final func watchedWait(while seen: UInt32, timeoutNanoseconds rest: Int64) {
    let watchdog = Engine.current.pointee.watchdog
    var limit = rest
    if !watchdog.begin() && !(0..<watchdog.retryInterval).contains(rest) {
      limit = watchdog.retryInterval
    }
    wakeups.waitUntilExit(while: seen, timeoutNanoseconds: limit)
  }

  /// Takes the lock for a change, once nobody is changing the value in place.
  @inlinable @inline(__always)
  final func lockForChange() {
    lock.lock()
    if holder != 0 { waitForHolderLocked() }
  }

  @usableFromInline
  final func waitForHolderLocked() {
    precondition(
      holderOnlyWatches || holder != Self.thisThread,
      "A value cannot be changed in the middle of a change in place of its own, such as that of"
        + " `value += f()`, where `f` sets the value. Call `f` first, and use its result.")
    // It usually takes only a moment.
    var backoff = Backoff()
    while holder != 0 {
      if holderOnlyWatches {
        precondition(
          holder != Self.thisThread,
          "A function given to `modify` sets the value itself each time, so that `modify` never ends."
            + " Change its argument instead, or set the value before or after.")
        return endWatchLocked()
      }
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

  /// From now on, a change by this thread stops the program, until `endWatch` or a change by another
  /// thread. Not if the value is being changed in place, or watched already.
  @usableFromInline
  package final func beginWatch() {
    lock.withLock { if holder == 0 { (holder, holderOnlyWatches) = (Self.thisThread, true) } }
  }

  @usableFromInline
  package final func endWatch() {
    lock.withLock { if holderOnlyWatches && holder == Self.thisThread { endWatchLocked() } }
  }

  private final func endWatchLocked() { (holder, holderOnlyWatches) = (0, false) }

  @usableFromInline
  static var thisThread: UInt { UInt(inturn_system_thread()) }

  /// The queues on which observers are being called, or are still to be, before a wait can end.
  func queues(for wait: TrailWait) -> [Handle] { [] }

  /// One of these, which tells why the wait does not end; nil if an observer is called elsewhere.
  final func queue(for wait: TrailWait) -> Handle? {
    if let queue = queues(for: wait).first { return queue }
    guard case .told = wait else { return nil }
    return queues(for: .calls).first
  }

  var describedForReports: Text { Report.describe(value: label) }
}
