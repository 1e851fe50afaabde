import CInturnSystem
import Synchronization

/// Looks, from time to time, whether anything stands still, and reports it.
///
/// It has a thread of its own, which calls the report handler, too: that one may block. There is no
/// such thread while nothing is pending or running. Nothing is stamped for it: it compares what the
/// lanes count anyway. Whoever gives an idle lane something to do finds the lane *unattended*, in the
/// same test that finds other seldom things, and has the thread begin; the thread leaves all lanes
/// unattended when it ends.
final class Watchdog: @unchecked Sendable {
  // Safe to share: `lock` protects what changes; the rest is atomic or never changes.

  /// How long something may stand still.
  enum Setting: Equatable {
    /// One second where the standard error is a terminal, where somebody looks; else ten.
    case standard
    case nanoseconds(Int64)
    case off
  }

  /// Protects what changes here, and changes of the engine's `isAttended`. Taken last.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var setting: Setting
  /// The thread is about to end, unless somebody says until then that it is attended.
  @exclusivity(unchecked) private var isLeaving = false
  private let retryTimer = TimerNode.Pointer.make()
  /// Changes when the thread must look again.
  private let wakeups = WakeWord.make()

  private static var retryInterval: Int64 { 1_000_000_000 }
  /// So many looks in the time that something may stand still.
  private static var looksInLimit: Int64 { 8 }
  /// It takes at most this part of a processor's time.
  private static var share: Int64 { 100 }
  private static var shortestPause: Int64 { 1_000_000 }

  init(_ setting: Setting) { self.setting = setting }

  /// For one that nobody has used; the engine's lives as long as the process.
  deinit {
    retryTimer.deallocate()
    wakeups.deallocate()
  }

  /// Changes how long something may stand still, also for what does so already.
  func set(_ new: Setting) {
    lock.withLock { setting = new }
    // What has come while it was off has found nobody.
    begin()
    wakeups.advance()
  }

  // MARK: Life

  /// Has a thread look, unless there is one. When none can be had, that is tried again later. No lock
  /// is held.
  func begin() {
    if ProcessState.isExiting { return }
    lock.lock()
    let begins = setting != .off && !isAttended
    if begins { isAttended = true }
    let isThere = isLeaving
    lock.unlock()
    if !begins || isThere { return }
    // The engine has a reference as long as the process lives.
    let isStarted = inturn_system_start_thread(
      "inturn-watchdog",
      { Unmanaged<Watchdog>.fromOpaque($0!).takeUnretainedValue().run() },
      Unmanaged.passUnretained(self).toOpaque())
    if isStarted { return }
    lock.withLock { isAttended = false }
    let clock = Engine.current.pointee.systemClock
    clock.arm(retryTimer, at: clock.moment(after: Self.retryInterval), for: .watchdog(self))
  }

  private var isAttended: Bool {
    get { Engine.current.pointee.isAttended.load(ordering: .relaxed) }
    set { Engine.current.pointee.isAttended.store(newValue, ordering: .relaxed) }
  }

  /// How long something may stand still; nil for ever.
  private var limit: Int64? {
    switch lock.withLock({ setting }) {
    case .standard: inturn_system_error_is_terminal() ? 1_000_000_000 : 10_000_000_000
    case .nanoseconds(let limit): limit
    case .off: nil
    }
  }

  private func run() {
    let process = ProcessState.current
    let clock = inturn_system_thread_clock()
    var survey = Survey()
    var looksInVain = 0
    while true {
      let seen = wakeups.pointee.load(ordering: .acquiring)
      var pause: Int64 = 0
      if let limit {
        let before = inturn_system_thread_time(clock)
        looksInVain = survey.look(at: inturn_system_now(), limit: limit) ? 0 : looksInVain + 1
        // Not what others have taken meanwhile, on a busy machine.
        let taken = inturn_system_thread_time(clock) - before
        pause = max(limit / Self.looksInLimit, taken * Self.share, Self.shortestPause)
        survey.tell()
        // A handler that has forked is in the child now, which has a watchdog of its own.
        if ProcessState.current != process { return }
        if looksInVain > 1 && leavesIdle() { return }
      } else if leavesOff() {
        return
      }
      if pause > 0 { wakeups.wait(while: seen, timeoutNanoseconds: pause) }
      if ProcessState.current != process { return }
    }
  }

  /// Nothing was pending or running. True: nothing is, and whoever comes finds that nobody looks.
  private func leavesIdle() -> Bool {
    lock.withLock {
      isAttended = false
      isLeaving = true
    }
    let isIdle = Lane.Pointer.leaveAllUnattended()
    lock.lock()
    defer { lock.unlock() }
    isLeaving = false
    // Somebody has found a lane unattended that was left before.
    if isIdle && !isAttended { return true }
    isAttended = true
    return false
  }

  /// True: it is still off, and whoever sets it on finds that nobody looks.
  private func leavesOff() -> Bool {
    lock.lock()
    defer { lock.unlock() }
    if setting != .off { return false }
    isAttended = false
    return true
  }
}

extension Watchdog.Setting {
  /// What the environment's `INTURN_STALL` says, such as `500ms`, `2s` or `off`; the standard where it
  /// says nothing of the kind.
  static var ofEnvironment: Self { getenv("INTURN_STALL").map { Self($0) } ?? .standard }

  private init(_ text: UnsafePointer<CChar>) {
    self = .standard
    if strcmp(text, "off") == 0 { self = .off }
    var end: UnsafeMutablePointer<CChar>?
    let number = strtol(text, &end, 10)
    guard let end, (1...1_000_000_000).contains(number) else { return }
    if strcmp(end, "ms") == 0 { self = .nanoseconds(Int64(number) * 1_000_000) }
    if strcmp(end, "s") == 0 { self = .nanoseconds(Int64(number) * 1_000_000_000) }
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
