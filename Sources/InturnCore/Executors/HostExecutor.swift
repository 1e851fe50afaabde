import CInturnSystem
import Synchronization

/// An executor without a thread: the host drains it, from its event loop or by `run`.
package final class HostExecutor: Executor, @unchecked Sendable {
  // Safe to share: `lock` of `Executor` protects all that changes, but for `wakeups`.

  /// What tells the host that something waits. Its context is destroyed with its last reference,
  /// so never while a call of it is under way.
  package final class Waker: Sendable {
    private let call: @Sendable () -> Void
    private let onRelease: @Sendable () -> Void

    package init(call: @escaping @Sendable () -> Void, onRelease: @escaping @Sendable () -> Void) {
      self.call = call
      self.onRelease = onRelease
    }

    deinit { onRelease() }

    func wake() { call() }
  }

  /// Only the main thread may drain it.
  let isMain: Bool
  /// How many threads may drain it at the same time.
  package let places: UInt32
  /// The loop that has taken it over; see `attach`.
  @exclusivity(unchecked) var attachment: Attachment?
  /// The attachment's thread, the only one that may drain; 0: any.
  @exclusivity(unchecked) var attachedThread: UInt = 0
  @exclusivity(unchecked) private var waker: Waker?
  /// How many threads drain it just now, and how many of these by `run`.
  @exclusivity(unchecked) private var drainers: UInt32 = 0
  @exclusivity(unchecked) private var runners: UInt32 = 0
  /// The runners are to return; the last one takes it back.
  @exclusivity(unchecked) private var isStopRequested = false
  @exclusivity(unchecked) private var eventReadEnd: Int32 = -1
  @exclusivity(unchecked) private var eventWriteEnd: Int32 = -1
  /// Whether the descriptor is readable.
  @exclusivity(unchecked) private var isSignalled = false
  /// How many threads are about to look for themselves, and tell the host what they leave. It is not
  /// told before, where no other thread may drain meanwhile.
  @exclusivity(unchecked) private var lookers: UInt32 = 0
  /// Changes when a sleeping thread must look again.
  private let wakeups = WakeWord.make()
  /// Threads that sleep until something waits, or are about to.
  @exclusivity(unchecked) private var sleepers: UInt32 = 0
  /// How many of them have been woken and have not looked yet; more where one left by its limit.
  @exclusivity(unchecked) private var woken: UInt32 = 0

  package init(
    isMain: Bool = false, label: String? = nil, waker: Waker? = nil, places: UInt32 = 1
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
    appendLocked(item)
    let tellsHost = ring.count == 1 && (lookers == 0 || places > 1)
    let waker = tellsHost ? self.waker : nil
    if tellsHost { signalLocked() }
    let wakesSleeper = sleepers > woken
    if wakesSleeper { woken += 1 }
    lock.unlockAfterReadingObject()
    if wakesSleeper {
      wakeups.pointee.wrappingAdd(1, ordering: .releasing)
      wakeups.wakeOne()
    }
    waker?.wake()
  }

  package func setWaker(_ new: Waker?) {
    lock.lock()
    let old = waker
    waker = new
    let isDue = ring.count > 0
    lock.unlockAfterReadingObject()
    if isDue { new?.wake() }
    // The old one goes here, after the lock.
    withExtendedLifetime(old) {}
  }

  /// A descriptor that is readable while something waits; nil when there is none to be had.
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

  /// Calls what waits, at most so many calls, and says how many it called.
  @_optimize(speed)
  package func drain(maximumCalls: Int) -> (status: Status, calls: Int) {
    let refusal = beginDrain()
    if refusal != .ok { return (refusal, 0) }
    var budget = DrainBudget(remaining: maximumCalls)
    runWaiting(&budget)
    budget.dropSpareGate()
    if budget.isForkedChild { return (.forked, maximumCalls - budget.remaining) }
    endDrain()
    return (.ok, maximumCalls - budget.remaining)
  }

  /// Drains and sleeps in turn until it is stopped.
  package func run() -> Status {
    let refusal = beginDrain()
    if refusal != .ok { return refusal }
    var budget = DrainBudget(remaining: 1)
    defer { budget.dropSpareGate() }
    lock.lock()
    runners += 1
    while !isStopRequested {
      if ring.count == 0 {
        sleepLocked(-1)
        continue
      }
      lock.unlock()
      budget.remaining = 1
      runWaiting(&budget)
      if budget.isForkedChild { return .forked }
      lock.lock()
      if ProcessState.isExiting { break }
    }
    runners -= 1
    if runners == 0 { isStopRequested = false }
    drainers -= 1
    lock.unlock()
    return .ok
  }

  package func stop() {
    lock.lock()
    isStopRequested = true
    lock.unlock()
    wakeups.advance()
  }

  /// Waits until something waits, so that a drain would find it. Below zero: no limit. Says, too,
  /// how many other threads wait.
  package func waitForWork(timeoutNanoseconds: Int64) -> (status: Status, others: UInt32) {
    if isOffMainThread { return (.wrongThread, 0) }
    let limit = WaitLimit(timeoutNanoseconds: timeoutNanoseconds)
    lock.lock()
    defer { lock.unlock() }
    if isAttachedElsewhereLocked { return (.wrongThread, 0) }
    while ring.count == 0 {
      guard let rest = limit.remaining else { return (.timedOut, sleepers) }
      sleepLocked(rest)
    }
    return (.ok, sleepers)
  }

  /// Gives the lock up, sleeps until there may be something to see, and takes it again.
  private func sleepLocked(_ nanoseconds: Int64) {
    let seen = wakeups.pointee.load(ordering: .relaxed)
    sleepers += 1
    lock.unlock()
    wakeups.wait(while: seen, timeoutNanoseconds: nanoseconds)
    lock.lock()
    sleepers -= 1
    // One that left by its limit may take this from one that is woken: that one looks all the same.
    if woken > 0 { woken -= 1 }
  }

  /// Whether the thread that waits is the only one that could drain it.
  func isDrainedAlone(by wait: WaitGraph.Wait) -> Bool {
    isMain ? wait.isOnMainThread : lock.withLock { attachedThread == wait.thread }
  }

  override var standing: String {
    lock.lock()
    defer { lock.unlock() }
    if drainers > 0 { return "who drains its executor is in a call that has not returned" }
    return (isMain ? "the main thread does not drain" : "nobody drains") + " its executor"
  }

  /// Whether the caller may never drain it.
  var isOffMainThread: Bool { isMain && !inturn_system_is_main_thread() }

  var drainerCount: UInt32 { lock.withLock { drainers } }

  /// Whether it is being drained just now.
  var isDrainedLocked: Bool { drainers > 0 }

  /// Whether it is being drained or waited for just now, or a loop is attached that may drain it at
  /// any time.
  package var isBusy: Bool {
    lock.withLock { drainers > 0 || sleepers > 0 || attachedThread != 0 }
  }

  /// Lets go of what waits; only lanes whose queues are gone do.
  package func discardWaiting() {
    var budget = DrainBudget(remaining: Int.max)
    runWaiting(&budget)
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

  func endDrain() {
    lock.lock()
    drainers -= 1
    lock.unlock()
  }

  /// Calls what waits. Who has begun the drain as one who looks for itself says so, once.
  @_optimize(speed)
  func runWaiting(_ budget: inout DrainBudget, looks: Bool = false) {
    var frame = CallFrame(executor: self)
    var looks = looks
    budget.begin(at: self)
    withUnsafeMutablePointer(to: &frame) { frame in
      frame.push()
      defer { frame.pop() }
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
        waker?.wake()
        guard let item else { return }
        item.run(&budget)
      }
    }
  }
}
