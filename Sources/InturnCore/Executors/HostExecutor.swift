import CInturnSystem
import Synchronization

/// An executor without a thread: the host drains it, from its event loop or by `run`.
package final class HostExecutor: Executor, @unchecked Sendable {
  // Safe to share: `lock` of `Executor` protects everything that changes, except `wakeups`.

  /// Tells the host that something waits.
  package typealias Waker = Callback<Void>

  /// Whether only the main thread may drain it.
  let isMain: Bool
  /// How many threads may drain it at a time.
  package let places: UInt32
  /// The attached loop; see `attach`.
  @exclusivity(unchecked) var attachment: Attachment?
  /// The attachment's thread, the only one that may drain; 0: any.
  @exclusivity(unchecked) var attachedThread: UInt = 0
  @exclusivity(unchecked) private var waker: Waker?
  /// How many threads are draining it, and how many of these in `run`.
  @exclusivity(unchecked) private var drainers: UInt32 = 0
  @exclusivity(unchecked) private var runners: UInt32 = 0
  /// Whether the runners have to return; the last one clears it.
  @exclusivity(unchecked) private var isStopRequested = false
  @exclusivity(unchecked) private var eventReadEnd: Int32 = -1
  @exclusivity(unchecked) private var eventWriteEnd: Int32 = -1
  /// Whether it was destroyed. What comes afterwards is run at once.
  @exclusivity(unchecked) private var isGone = false
  /// Whether the descriptor is readable.
  @exclusivity(unchecked) private var isSignalled = false
  /// How many threads are about to drain, and will wake the host for what they leave. The host is
  /// not woken before that, unless other threads may drain meanwhile.
  @exclusivity(unchecked) private var lookers: UInt32 = 0
  /// Changes when a sleeping thread has to look again.
  private let wakeups = WakeWord.make()
  /// Threads that sleep until something waits, or are about to.
  @exclusivity(unchecked) private var sleepers: UInt32 = 0
  /// How many of them were woken and have not looked yet; too many after one that left on a
  /// time-out.
  @exclusivity(unchecked) private var woken: UInt32 = 0

  package init(
    isMain: Bool = false, label: Text? = nil, waker: Waker? = nil, places: UInt32 = 1
  ) {
    self.isMain = isMain
    self.places = places
    self.waker = waker
    super.init(label: label)
  }

  deinit {
    if eventReadEnd >= 0 { inturn_system_event_close(eventReadEnd, eventWriteEnd) }
    wakeups.deallocate()
  }

  override func submit(_ item: ReadyRing.Item) {
    lock.lock()
    if isGone {
      lock.unlockAfterReadingObject()
      return discard { budget in
        budget.begin(at: self)
        CallFrame(executor: self).enter { item.run(&budget) }
      }
    }
    appendLocked(item)
    let tellsHost = ring.count == 1 && (lookers == 0 || places > 1)
    let waker = tellsHost ? self.waker : nil
    if tellsHost { signalLocked() }
    let wakesSleeper = sleepers > woken
    if wakesSleeper { woken += 1 }
    lock.unlockAfterReadingObject()
    if wakesSleeper { wakeSleeper() }
    waker?()
  }

  package func setWaker(_ new: Waker?) {
    lock.lock()
    let old = waker
    waker = new
    let isDue = ring.count > 0
    lock.unlockAfterReadingObject()
    if isDue { new?() }
    // The old waker is released here, without the lock.
    withExtendedLifetime(old) {}
  }

  /// A descriptor that is readable while something waits; nil when none can be opened.
  package func descriptor() -> Int32? {
    lock.lock()
    defer { lock.unlock() }
    if eventReadEnd < 0 {
      eventReadEnd = inturn_system_event_open(&eventWriteEnd)
      if eventReadEnd < 0 { return nil }
      if ring.count > 0 { signalLocked() }
    }
    return eventReadEnd
  }

  private func signalLocked() {
    if eventWriteEnd < 0 || isSignalled { return }
    isSignalled = true
    inturn_system_event_signal(eventWriteEnd)
  }

  private func clearSignalLocked() {
    if !isSignalled { return }
    isSignalled = false
    inturn_system_event_clear(eventReadEnd)
  }

  /// Calls what waits, `maximumCalls` at most, and returns how many calls it made.
  package func drain(maximumCalls: Int) -> (status: Status, calls: Int) {
    var budget = DrainBudget(remaining: maximumCalls)
    let status = drain(&budget)
    return (status, maximumCalls - budget.remaining)
  }

  /// Runs a step that may submit work here, and then drains until an operation is given or the
  /// budget is used up. If it `looks`, the waker is called for what is left, not for what came in
  /// between.
  @_optimize(speed)
  package func drain(
    _ budget: inout DrainBudget, looks: Bool = false, after step: () -> Void = {}
  ) -> Status {
    let refusal = beginDrain(looks: looks)
    if refusal != .ok { return refusal }
    step()
    runWaiting(&budget, looks: looks)
    budget.dropSpareGate()
    if budget.isForkedChild { return .forked }
    endDrain()
    return .ok
  }

  /// Alternately drains and sleeps until it is stopped.
  package func run() -> Status {
    let refusal = beginDrain()
    if refusal != .ok { return refusal }
    var budget = DrainBudget(remaining: 1)
    defer { budget.dropSpareGate() }
    lock.lock()
    runners += 1
    while !isStopRequested && !ProcessState.isExiting {
      if ring.count == 0 {
        sleepLocked(-1)
        continue
      }
      lock.unlock()
      budget.remaining = 1
      runWaiting(&budget)
      if budget.isForkedChild { return .forked }
      lock.lock()
    }
    runners -= 1
    if runners == 0 { isStopRequested = false }
    drainers -= 1
    lock.unlock()
    return .ok
  }

  package func stop() {
    lock.withLock { isStopRequested = true }
    wakeups.advance()
  }

  /// Blocks until something waits, so that a drain would find it. A negative time-out means no
  /// limit. Also returns how many other threads wait.
  package func waitForWork(timeoutNanoseconds: Int64) -> (status: Status, others: UInt32) {
    if isOffMainThread { return (.wrongThread, 0) }
    let limit = WaitLimit(timeoutNanoseconds: timeoutNanoseconds)
    lock.lock()
    if isAttachedElsewhereLocked {
      lock.unlock()
      return (.wrongThread, 0)
    }
    while ring.count == 0 {
      guard let rest = limit.remaining else {
        defer { lock.unlock() }
        return (.timedOut, sleepers)
      }
      sleepLocked(rest)
    }
    // The wake-up may have been meant for a thread in `run`, which would call what this one leaves.
    let wakesNext = runners > 0 && sleepers > woken
    if wakesNext { woken += 1 }
    let others = sleepers
    lock.unlock()
    if wakesNext { wakeSleeper() }
    return (.ok, others)
  }

  /// Wakes one that `woken` counts already. Called without the lock.
  private func wakeSleeper() {
    wakeups.pointee.wrappingAdd(1, ordering: .releasing)
    wakeups.wakeOne()
  }

  /// Releases the lock, sleeps until there may be something to do, and takes the lock again.
  private func sleepLocked(_ nanoseconds: Int64) {
    let seen = wakeups.pointee.load(ordering: .relaxed)
    sleepers += 1
    lock.unlock()
    wakeups.waitUntilExit(while: seen, timeoutNanoseconds: nanoseconds)
    lock.lock()
    sleepers -= 1
    // A thread that timed out may consume the wake-up of another one, which looks again all the
    // same.
    if woken > 0 { woken -= 1 }
  }

  /// Whether the waiting thread is the only one that could drain it.
  func isDrainedAlone(by wait: WaitGraph.Wait) -> Bool {
    isMain ? wait.isOnMainThread : lock.withLock { attachedThread == wait.thread }
  }

  override var standing: Text {
    lock.lock()
    defer { lock.unlock() }
    let name = Report.quoted(label, after: " ")
    if drainers > 0 {
      return "who drains its executor" + name + " is in a call that has not returned"
    }
    // It may have been drained a moment ago, by who polls it.
    return (isMain ? "the main thread is not" : "nobody is") + " draining its executor" + name
  }

  /// Whether the calling thread may never drain it.
  var isOffMainThread: Bool { isMain && !inturn_system_is_main_thread() }

  var drainerCount: UInt32 { lock.withLock { drainers } }

  var drainersLocked: UInt32 { drainers }

  /// Whether a thread drains it or waits for work, or a loop is attached that may drain it at any
  /// time.
  package var isBusy: Bool {
    lock.withLock { drainers > 0 || sleepers > 0 || attachedThread != 0 }
  }

  /// Runs what is left; only lanes whose queues are gone can wait here now.
  package func discardWaiting() {
    let last = lock.withLock {
      isGone = true
      defer { waker = nil }
      return waker
    }
    discard { runWaiting(&$0) }
    withExtendedLifetime(last) {}
  }

  private func discard(_ run: (inout DrainBudget) -> Void) {
    var budget = DrainBudget(remaining: Int.max)
    run(&budget)
    budget.dropSpareGate()
  }

  func beginDrain(looks: Bool = false) -> Status {
    if isOffMainThread { return .wrongThread }
    lock.lock()
    defer { lock.unlock() }
    if drainers == places || isAttachedElsewhereLocked { return .wrongThread }
    drainers += 1
    if looks { lookers += 1 }
    return .ok
  }

  func endDrain() { lock.withLock { drainers -= 1 } }

  /// Calls what waits. `looks`: the drain was begun as a looker, which ends with the first item.
  @_optimize(speed)
  func runWaiting(_ budget: inout DrainBudget, looks: Bool = false) {
    var looks = looks
    budget.begin(at: self)
    CallFrame(executor: self).enter {
      while budget.remaining > 0 && budget.isStillOurs {
        lock.lock()
        let item = popLocked()
        var waker: Waker?
        if ring.count == 0 {
          clearSignalLocked()
        } else if looks {
          signalLocked()
          waker = self.waker
        }
        if looks { lookers -= 1 }
        looks = false
        lock.unlockAfterReadingObject()
        waker?()
        guard let item else { return }
        item.run(&budget)
      }
    }
  }
}
