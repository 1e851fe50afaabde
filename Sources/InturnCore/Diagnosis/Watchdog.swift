import CInturnSystem
import Synchronization

/// Looks for stalls from time to time, and reports them.
///
/// It has a thread of its own, on which the report handler is called, so that the handler may block.
/// There is no such thread while nothing is pending or running, and nobody waits for observers. Nothing
/// is recorded for it: it compares what the lanes count anyway. Whoever gives an idle lane something to
/// do finds the lane *unattended*, in the same test that finds other rare states, and starts the
/// thread; the thread marks all lanes unattended before it ends.
final class Watchdog: @unchecked Sendable {
  // Safe to share: `lock` protects what changes; the rest is atomic or never changes.

  /// Protects what changes here, and changes of the engine's `isAttended`. Taken last.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var setting: StallLimit
  /// The least that any queue has had; `Int64.max` while none had one.
  @exclusivity(unchecked) private var leastOfQueues = Int64.max
  /// The thread is about to end, unless `isAttended` is set before then.
  @exclusivity(unchecked) private var isLeaving = false
  private let retryTimer = TimerNode.Pointer.make()
  /// Changes when the thread must look again.
  private let wakeups = WakeWord.make()

  private let isTest = inturn_system_is_test()

  private static var second: Int64 { 1_000_000_000 }
  /// How long after a thread could not be started this is tried again.
  var retryInterval: Int64 { Self.second }
  /// How many looks fit into the limit.
  private static var looksInLimit: Int64 { 8 }
  /// The watchdog uses at most one part in this many of a processor's time.
  private static var share: Int64 { 100 }
  private static var shortestPause: Int64 { 1_000_000 }
  /// A look that is so late shows that the process was stopped, or had no processor.
  private static var leastStop: Int64 { 500_000_000 }

  init(_ setting: StallLimit) {
    self.setting = setting
    inturn_system_prepare_search()
  }

  /// Only for a watchdog that was never used; the engine's lives as long as the process.
  deinit {
    retryTimer.deallocate()
    wakeups.deallocate()
  }

  /// Changes the limit, also for stalls that have begun.
  func set(_ new: StallLimit) {
    lock.withLock { setting = new }
    // Work that came while it was off has started no thread.
    begin()
    wakeups.advance()
  }

  /// A queue is about to be made that has a limit of its own, or to be given one. If nobody looks, a
  /// new one is unattended.
  func heed(_ limit: StallLimit) {
    lock.withLock { leastOfQueues = min(leastOfQueues, limit.nanoseconds) }
    wakeups.advance()
  }

  // MARK: Life

  /// Starts the thread, unless there is one. If it cannot be started, which is false, the clock tries
  /// again later, while there is something to look for; it cannot where it has no thread itself, as
  /// no queue was ever made. No lock is held.
  @discardableResult
  func begin() -> Bool {
    if ProcessState.isExiting { return true }
    lock.lock()
    let begins = !isOffLocked && !isAttended
    if begins { isAttended = true }
    let isThere = isLeaving
    lock.unlock()
    if !begins || isThere { return true }
    // The engine keeps a reference for the life of the process.
    let isStarted = inturn_system_start_thread(
      "inturn-watchdog",
      { Unmanaged<Watchdog>.fromOpaque($0!).takeUnretainedValue().run() },
      Unmanaged.passUnretained(self).toOpaque())
    if isStarted { return true }
    lock.withLock { isAttended = false }
    if Lane.Pointer.leaveAllUnattended() && !WaitGraph.isForObservers { return false }
    let clock = Engine.current.pointee.systemClock
    clock.arm(retryTimer, at: clock.moment(after: retryInterval), for: .watchdog(self))
    return false
  }

  private var isAttended: Bool {
    get { Engine.current.pointee.isAttended.load(ordering: .relaxed) }
    set { Engine.current.pointee.isAttended.store(newValue, ordering: .relaxed) }
  }

  private var isOffLocked: Bool { setting == .never && leastOfQueues == .max }

  /// How long a stall may last where a queue says nothing, and the least for any queue.
  private var limits: (ofProcess: Int64, least: Int64) {
    let (setting, leastOfQueues) = lock.withLock { (self.setting, self.leastOfQueues) }
    let limit = setting.or(isTest || inturn_system_is_watched() ? Self.second : 10 * Self.second)
    return (limit, min(limit, leastOfQueues))
  }

  private func run() {
    let process = ProcessState.current
    let clock = inturn_system_thread_clock()
    var survey = Survey()
    var looksInVain = 0
    var now = inturn_system_now()
    while true {
      let seen = wakeups.pointee.load(ordering: .acquiring)
      var pause: Int64 = 0
      let (limit, least) = limits
      if least != .max {
        let before = inturn_system_thread_time(clock)
        looksInVain = survey.look(at: now, limit: limit) ? 0 : looksInVain + 1
        // Processor time, so that other threads on a busy machine do not count.
        let taken = inturn_system_thread_time(clock) - before
        pause = max(least / Self.looksInLimit, taken * Self.share, Self.shortestPause)
        // The handler may take its time.
        now += survey.tell()
        // If the handler has forked, this is the child, which has its own watchdog.
        if ProcessState.current != process { return }
        if looksInVain > 1 && leavesIdle(limit) { return }
      } else if leavesOff() {
        return
      }
      if pause > 0 { wakeups.wait(while: seen, timeoutNanoseconds: pause) }
      if ProcessState.current != process { return }
      let due = now + pause
      now = inturn_system_now()
      if now - due > Self.leastStop { survey.goesOn(at: now) }
    }
  }

  /// Called when all lanes were idle. True if they still are, and new work will start a thread.
  private func leavesIdle(_ limit: Int64) -> Bool {
    lock.withLock {
      isAttended = false
      isLeaving = true
    }
    let isIdle =
      Lane.Pointer.leaveAllUnattended() && (limit == .max || !WaitGraph.isForObservers)
    lock.lock()
    defer { lock.unlock() }
    isLeaving = false
    // Somebody has found an unattended lane meanwhile.
    if isIdle && !isAttended { return true }
    isAttended = true
    return false
  }

  /// True if it is still off, and whoever sets it starts a thread.
  private func leavesOff() -> Bool {
    lock.lock()
    defer { lock.unlock() }
    if !isOffLocked { return false }
    isAttended = false
    return true
  }
}

extension StallLimit {
  /// The setting in the environment's `INTURN_STALL`, such as `500ms`, `2s` or `off`; the standard if
  /// it is missing, or malformed, which is said.
  static var ofEnvironment: Self {
    guard let text = getenv("INTURN_STALL"), text.pointee != 0 else { return .standard }
    if let setting = Self(text) { return setting }
    Report.write("inturn: INTURN_STALL: it is not a time such as 500ms or 2s, or off\n")
    return .standard
  }

  private init?(_ text: UnsafePointer<CChar>) {
    if strcmp(text, "off") == 0 {
      self = .never
      return
    }
    var end: UnsafeMutablePointer<CChar>?
    let number = strtol(text, &end, 10)
    guard let end, (1...1_000_000_000).contains(number) else { return nil }
    let isSeconds = strcmp(end, "s") == 0
    guard isSeconds || strcmp(end, "ms") == 0 else { return nil }
    self.init(Int64(number) * (isSeconds ? 1_000_000_000 : 1_000_000))
  }
}

extension UnsafeMutablePointer<Lane> {
  /// Says of each lane that nobody looks whether it stands still. False, with not all of that done,
  /// when something is pending or running in one of them.
  fileprivate static func leaveAllUnattended() -> Bool {
    let engine = Engine.current
    for index in engine.pointee.lanes.givenOut {
      guard let lane = engine.pointee.lanes.pointer(at: index) else { continue }
      lane.pointee.lock.lock()
      let isBusy = !lane.isQuiet
      if !isBusy { lane.pointee.machine.flags.insert(.unattended) }
      lane.pointee.lock.unlock()
      if isBusy { return false }
    }
    return true
  }
}
