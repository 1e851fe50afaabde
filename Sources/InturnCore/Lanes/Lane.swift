import CInturnSystem
import Synchronization

/// The engine's ordered list of operations behind a queue: one cache line, in a slab.
///
/// `lock` protects every field. The lane's address is its identity. `generation` tells apart the
/// queues that use the lane one after the other; a handle with another one is stale.
///
/// Most FIFO operations start and end without the lock: the drainer takes it once for a *burst* of
/// jobs, and starts each by changing the word of one slot, the lane's *gate*, from "over" to the
/// next generation's "started". Whoever has to stop or examine a burst (suspend, cancel, destroy)
/// takes the lock and sets `attention` on the gate, which makes that change fail. The gate's
/// generation says how far the burst has come.
struct Lane: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<Lane>

  // First, because the thread sanitizer takes a change of any part for a change of the first field,
  // and the lock's own word is read without the lock.
  var generation: UInt32
  let lock: BriefLock
  var machine: LaneMachine
  /// Operations and segments that wait in the buffer; during a burst, as last counted.
  var pending: UInt32
  var buffer: JobBuffer
  /// The first of the running operations' slots; zero for none. They are linked by `link`.
  var firstRunning: UInt32
  /// The gate's generation when the burst was last counted.
  var burstGeneration: UInt32
  /// Operations that ended as finished. A burst counts each that it starts, unless it ends
  /// otherwise.
  var finished: UInt64
  /// What most lanes do without.
  var more: LaneMore

  var extra: UnsafeMutablePointer<LaneExtra>? {
    @inline(__always) get { more.extra }
  }
}

/// The state of a lane whose queue has options or uses more than the basics. Each part is a value
/// that knows neither lane nor lock.
struct LaneExtra: ~Copyable {
  var settings = LaneSettings()
  var executors = LaneExecutors()
  var backlog = LaneBacklog()
  var suspensions = Suspensions()
  /// Nil when nothing limits the pace.
  var pace: UnsafeMutablePointer<Pace>?
  var ends = EndCounts()
  var deliveries = Deliveries()
  var quiet = Quiet()
  var graphs = HeldGraphs()
  var keys: KeyTable?
  var events: LaneEvents?
  var states: UnsafeMutablePointer<LaneStates>?
}

// MARK: Views and small steps; the lane is locked

extension UnsafeMutablePointer<Lane> {
  var view: LaneMachine.View {
    @inline(__always) get { LaneMachine.View(hasJobs: hasJobsLocked, limit: limit) }
  }

  var limit: UInt32 {
    @inline(__always) get {
      let traits = pointee.machine.traits
      if traits.contains(.oneAtATime) { return 1 }
      if !traits.contains(.limited) { return UInt32.max }
      return pointee.extra.unsafelyUnwrapped.pointee.settings.limit
    }
  }

  var executor: Executor {
    if let executor = pointee.extra?.pointee.executors.current {
      return executor.takeUnretainedValue()
    }
    return Engine.current.pointee.pool
  }

  var clock: Clock {
    if let clock = pointee.extra?.pointee.settings.clock { return clock.takeUnretainedValue() }
    return Engine.current.pointee.systemClock
  }

  /// Calls `body` with the clock, without retaining it: a locked lane keeps its clock.
  @inline(__always)
  func withClockLocked<Result>(_ body: (Clock) -> Result) -> Result {
    let own = pointee.extra?.pointee.settings.clock
    return (own ?? Engine.current.pointee.systemClockReference)._withUnsafeGuaranteedRef(body)
  }

  var nowLocked: Int64 {
    @inline(__always) get { hasOwnClock ? withClockLocked { $0.now } : inturn_system_now() }
  }

  var hasOwnClock: Bool {
    @inline(__always) get { pointee.extra?.pointee.settings.clock != nil }
  }

  var label: UnsafePointer<CChar>? { pointee.more.label.map { UnsafePointer($0) } }

  /// The extra part, made if there is none yet.
  func needExtra() -> UnsafeMutablePointer<LaneExtra> {
    if let extra = pointee.extra { return extra }
    return pointee.more.addExtra()
  }

  // MARK: Giving the lock back

  /// Unlocks the lane and does what follows from the changes made under the lock: asks for a
  /// drainer where one is of use, wakes those who wait for quiet, performs the outbox. The last
  /// user of a destroyed lane clears it away. A caller that has changed nothing may just release
  /// the lock.
  @inline(__always)
  func unlock(_ outbox: inout Outbox) {
    if outbox.hasNews || needsSlowUnlock { unlockSlowly(&outbox) } else { unlockQuickly() }
    outbox.dropOver()
  }

  /// The same for a caller with an empty outbox.
  @inline(__always)
  func unlock() {
    if needsSlowUnlock { unlockSlowly() } else { unlockQuickly() }
  }

  private var needsSlowUnlock: Bool {
    @inline(__always) get {
      let flags = pointee.machine.flags
      return !flags.isDisjoint(with: [.watched, .destroyed, .unattended])
        || (flags.contains(.waitedFor) && isQuiet)
    }
  }

  @inline(__always)
  private func unlockQuickly() {
    let asks = pointee.machine.askForDrainer(view)
    if !asks {
      pointee.lock.unlock()
      return
    }
    let executor = self.executor
    pointee.lock.unlock()
    executor.submit(ReadyRing.Item(lane: self))
  }

  @inline(never)
  private func unlockSlowly() {
    var outbox = Outbox()
    unlockSlowly(&outbox)
  }

  /// The same, without the fast path.
  @_optimize(speed)
  @inline(never)
  func unlockSlowly(_ outbox: inout Outbox) {
    stageStatesLocked(&outbox)
    if pointee.machine.flags.contains(.destroyed) {
      leaveDestroyedLocked(&outbox)
      return
    }
    let executor = self.executor
    let asks = pointee.machine.askForDrainer(view)
    let isNews = pointee.machine.flags.contains(.unattended) && !isQuiet
    if isNews { pointee.machine.flags.remove(.unattended) }
    let calls = isQuiet ? pointee.extra?.pointee.quiet.takeCalls() ?? [] : []
    if isQuiet { wakeWaitersLocked() }
    pointee.lock.unlockAfterReadingObject()
    let process = ProcessState.current
    outbox.perform(executor, asks ? self : nil)
    if ProcessState.isForked(since: process) { return }
    for call in calls { call() }
    if isNews { Engine.current.pointee.watchdog.begin() }
  }

  /// Performs an outbox in the middle of a step: releases the lock and takes it again. The lane is
  /// not freed meanwhile. False, without the lock, in a child that was forked by what it has called:
  /// the lane is the parent's.
  func performLocked(_ outbox: inout Outbox) -> Bool {
    if outbox.isEmpty { return true }
    let process = ProcessState.current
    let extra = needExtra()
    let executor = pointee.machine.flags.contains(.destroyed) ? nil : self.executor
    extra.pointee.quiet.outside += 1
    pointee.lock.unlockAfterReadingObject()
    outbox.perform(executor)
    if ProcessState.isForked(since: process) { return false }
    pointee.lock.lock()
    extra.pointee.quiet.outside -= 1
    return true
  }

  /// Notes that somebody waits until the lane is quiet.
  func setAwaitedLocked() {
    _ = needExtra()
    pointee.machine.flags.insert(.waitedFor)
  }

  /// Wakes threads that sleep until the lane is quiet, or not in use.
  func wakeWaitersLocked() {
    if !pointee.machine.flags.contains(.waitedFor) { return }
    pointee.machine.flags.remove(.waitedFor)
    pointee.extra!.wakeups.advance()
  }

  /// Whether nothing is pending, running, being called or to be delivered.
  var isQuiet: Bool {
    let machine = pointee.machine
    return pointee.pending == 0 && machine.running == 0 && machine.active == 0
      && !machine.flags.contains(.hasDeliveries) && (pointee.extra?.pointee.quiet.outside ?? 0) == 0
  }

  /// Whether calls are under way. For a destroyed lane, also whether somebody is about to carry on
  /// after an operation that it ended.
  var isInUse: Bool {
    let machine = pointee.machine
    return machine.active > 0 || (pointee.extra?.pointee.quiet.outside ?? 0) > 0
      || (machine.running > 0 && machine.flags.contains(.destroyed))
  }

  // MARK: Running operations

  func addRunningLocked(_ slot: OperationSlot.Pointer) {
    slot.link(after: 0, before: pointee.firstRunning)
    pointee.firstRunning = slot.index
    pointee.machine.start()
  }

  func removeRunningLocked(_ slot: OperationSlot.Pointer) {
    let (previous, next) = slot.unlink()
    if previous == 0 { pointee.firstRunning = next }
    pointee.machine.release()
  }

  /// The running operation that was started last.
  var firstRunningSlot: OperationSlot.Pointer? { OperationSlot.Pointer(at: pointee.firstRunning) }

  func forEachRunningLocked(
    while goesOn: @autoclosure () -> Bool = true, _ body: (OperationSlot.Pointer) -> Void
  ) {
    _ =
      goesOn()
      && OperationSlot.Pointer.forEach(from: pointee.firstRunning) {
        body($0)
        return goesOn()
      }
  }
}

extension UnsafeMutablePointer<LaneExtra> {
  /// The address is valid while the extra part lives: an atomic never moves.
  var wakeups: WakeWord {
    withUnsafePointer(to: pointee.quiet.wakeups) { WakeWord(mutating: $0) }
  }
}
