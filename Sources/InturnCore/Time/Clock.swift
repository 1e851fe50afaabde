import CInturnSystem
import Synchronization

/// The source of delays and deadlines: the system's monotonic clock, or a manual one.
///
/// Timers fire on the clock's own thread, or on the thread that advances it. Firing changes the
/// engine's state and hands work to executors; user code runs there, not here.
package final class Clock: @unchecked Sendable {
  // Safe to share: `lock` protects everything that changes.

  /// Protects `timers`, the manual times and `firing`.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var timers = TimerHeap()
  @exclusivity(unchecked) private var manualTime: Int64 = 0
  /// The target of all advances that have begun.
  @exclusivity(unchecked) private var advancedTo: Int64 = 0
  /// Threads that are firing due timers; they also find timers that are armed late.
  @exclusivity(unchecked) private var firing = 0
  /// The system clock's thread while it fires a manual clock's late timers; otherwise 0.
  @exclusivity(unchecked) private var lateThread: UInt = 0
  /// For a manual clock: armed on the system clock when a timer is armed after the advance past its
  /// moment.
  private let lateTimer: TimerNode.Pointer?
  private enum ThreadState {
    static let none = 0
    /// A thread was started and is not running yet.
    static let promised = 1
    static let running = 2
  }
  /// Relaxed: it publishes no other data.
  private let threadState = Atomic(ThreadState.none)
  /// Changes when the thread has to look again. A sleeping thread misses no change.
  private let wakeups = WakeWord.make()

  package let isManual: Bool
  /// Set before the clock is shared; null for the system's.
  @exclusivity(unchecked) package internal(set) var handle = Handle(bits: 0)
  /// How many queues use the clock; protected by the engine's object lock.
  @exclusivity(unchecked) var users = 0
  /// Whether its creator needs it no more; protected by the same lock.
  @exclusivity(unchecked) var isReleased = false
  /// The thread that advances a manual clock; otherwise 0.
  @exclusivity(unchecked) private var advancer: UInt = 0

  package init(isManual: Bool) {
    self.isManual = isManual
    lateTimer = isManual ? .make() : nil
  }

  deinit {
    wakeups.deallocate()
    // An armed timer retains the clock, so this one is not armed.
    lateTimer?.deallocate()
  }

  /// Nanoseconds since an arbitrary moment; a manual clock's since its creation.
  package var now: Int64 {
    isManual ? lock.withLock { manualTime } : inturn_system_now()
  }

  /// How many timers are armed.
  var armed: Int { lock.withLock { timers.count } }

  /// The moment `nanoseconds` from now, or the end of time.
  package func moment(after nanoseconds: Int64) -> Int64 {
    let (sum, overflow) = now.addingReportingOverflow(nanoseconds)
    return overflow ? Int64.max : sum
  }

  /// Arms a timer, or gives an armed one another deadline. If a manual clock has passed the
  /// deadline meanwhile, the system clock's thread fires the timer, because the caller may hold a
  /// lock.
  @_optimize(speed)
  func arm(_ node: TimerNode.Pointer, at deadline: Int64, for owner: TimerNode.Owner) {
    lock.lock()
    if node.pointee.isArmed { timers.remove(node) }
    node.pointee.owner = owner
    node.pointee.deadline = deadline
    let isFirst = timers.insert(node)
    let isLate = isManual && deadline <= manualTime && firing == 0
    lock.unlock()
    if isFirst && !isManual { wakeups.advance() }
    if isLate { Engine.current.pointee.systemClock.arm(lateTimer!, at: 0, for: .clock(self)) }
  }

  /// Disarms a timer, if it is armed. It may still be about to fire when this returns.
  @_optimize(speed)
  func disarm(_ node: TimerNode.Pointer) {
    lock.lock()
    if node.pointee.isArmed { timers.remove(node) }
    let owner = node.pointee.owner
    node.pointee.owner = .nobody
    lock.unlockAfterReadingObject()
    // Released without the lock.
    withExtendedLifetime(owner) {}
  }

  /// Advances a manual clock. When this returns, timers due by then have fired, on this thread or
  /// the system clock's. False when it would pass the end of time.
  package func advance(by nanoseconds: Int64) -> Bool {
    let thread = inturn_system_thread()
    // By a host's waker, which is all of the user's that firing calls.
    let isNested = lock.withLock { advancer == thread || lateThread == thread }
    // One thread at a time: another would return while this one still fires a timer of its way. Safe
    // to wait, here and below, as no lock is held.
    wait { advancer == 0 || isNested }
    if !isNested { advancer = thread }
    let (target, overflow) = advancedTo.addingReportingOverflow(nanoseconds)
    if !overflow { advancedTo = target }
    lock.unlock()
    if !overflow {
      fireDue(upTo: target)
      wait { lateThread == 0 || lateThread == thread }
      lock.unlock()
    }
    if !isNested { lock.withLock { advancer = 0 } }
    return !overflow
  }

  /// Returns with the lock once the condition holds under it.
  private func wait(until condition: () -> Bool) {
    var backoff = Backoff()
    lock.lock()
    while !condition() {
      lock.unlock()
      backoff.pause()
      lock.lock()
    }
  }

  /// Fires timers that were armed on a manual clock after it had passed their moments. Called on
  /// the system clock's thread.
  private func fireLate() {
    lock.withLock { lateThread = inturn_system_thread() }
    fireDue(upTo: now)
    lock.withLock { lateThread = 0 }
  }

  // MARK: Firing

  /// Fires what is due, each timer at its own deadline on a manual clock.
  private func fireDue(upTo limit: Int64) {
    lock.lock()
    firing += 1
    while true {
      // Includes what another thread has advanced meanwhile, as it may have left the rest to this
      // one.
      let limit = isManual ? max(limit, manualTime) : limit
      guard let first = timers.first, first.pointee.deadline <= limit else {
        if isManual { manualTime = limit }
        firing -= 1
        lock.unlock()
        return
      }
      if isManual { manualTime = max(manualTime, first.pointee.deadline) }
      let owner = first.pointee.owner
      first.pointee.owner = .nobody
      timers.remove(first)
      lock.unlockAfterReadingObject()
      switch owner {
      case .nobody: break
      case .operation(let slot, let generation, let lane):
        lane.timerFired(of: slot, generation: generation)
      case .lane(let lane, let generation): lane.timerFired(generation: generation)
      case .pool(let pool): pool.checkPressure()
      case .alarm(let alarm): alarm.ring()
      case .clock(let manual): manual.fireLate()
      case .watchdog(let watchdog): watchdog.begin()
      }
      lock.lock()
    }
  }

  /// Starts the clock's thread unless there is one. False when that fails.
  ///
  /// Creating a queue calls this, so that accepted operations never lack the thread.
  func ensureThread() -> Bool {
    if threadState.load(ordering: .relaxed) != ThreadState.none { return true }
    let context = Unmanaged.passRetained(self)
    let isStarted = inturn_system_start_thread(
      "inturn-clock", { Unmanaged<Clock>.fromOpaque($0!).takeRetainedValue().runThread() },
      context.toOpaque())
    if !isStarted {
      context.release()
      return false
    }
    _ = threadState.compareExchange(
      expected: ThreadState.none, desired: ThreadState.promised, ordering: .relaxed)
    return true
  }

  /// How long nothing will be due; nil when nothing is armed.
  private var pauseUntilNext: Int64? {
    lock.withLock { timers.first?.pointee.deadline }.map { max(0, $0 - inturn_system_now()) }
  }

  private func runThread() {
    // Two callers at once may have started a thread each.
    if threadState.exchange(ThreadState.running, ordering: .relaxed) == ThreadState.running {
      return
    }
    while true {
      let seen = wakeups.pointee.load(ordering: .acquiring)
      fireDue(upTo: inturn_system_now())
      let pause = pauseUntilNext ?? -1
      if pause != 0 { wakeups.wait(while: seen, timeoutNanoseconds: pause) }
    }
  }
}
