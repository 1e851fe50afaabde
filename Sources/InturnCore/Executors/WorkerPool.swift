import CInturnSystem
import Synchronization

/// The library's threads, which take what waits, first come, first served.
///
/// The pool starts a thread when an item finds none idle, up to `target`. When all threads are busy
/// and none has taken another item for a while, those that have hardly used a processor meanwhile
/// count as blocked in calls. One more thread is then started each `pressureInterval`, up to
/// `maximum`, until as many as the target compute. Threads above the target end after they have
/// been idle for `surplusIdle`.
///
/// A thread that runs out of work spins for a few microseconds before it sleeps, because waking it
/// costs more than that. Only one thread spins at a time. After it has spun in vain, a thread spins
/// again only after a short sleep; otherwise it would keep a processor from others and be moved to
/// a colder one.
///
/// What a thread of the pool submits from within a call, the spinning thread leaves to that thread, if
/// it comes back within a microsecond. So queues that start each other's operations stay on one
/// processor, whose caches have them.
package final class WorkerPool: Executor, @unchecked Sendable {
  // Safe to share: `lock` of `Executor` protects everything that changes.

  /// An idle thread's own word: set when the thread has to look again.
  private typealias Parker = WakeWord

  /// A worker's own state.
  private struct Worker {
    let parker = Parker.make()
    /// Whether spinning before it sleeps has paid off lately.
    var looksAround = true
  }

  /// How many threads it starts at once; see `PoolMachine.target`.
  package let size: Int
  /// The parked threads' words, in the order in which they parked.
  @exclusivity(unchecked) private var parked: [Parker] = []
  /// All threads, so that their words can still be reached when a thread ends with the process.
  @exclusivity(unchecked) private var workers: [Listed] = []

  private struct Listed {
    let parker: Parker
    let clock: Int64
    /// The processor time that it had used at the clock's last look, and how many looks ago it last
    /// grew.
    var used: Int64 = 0
    var looks = WorkerPool.looksOfBlocked
  }
  /// Whether a lack of threads has been reported.
  @exclusivity(unchecked) private var isShortOfThreads = false
  private let pressureTimer = TimerNode.Pointer.make()
  private let clock: Clock

  private static var pressureInterval: Int64 { 5_000_000 }
  private static var surplusIdle: Int64 { 1_000_000_000 }
  /// A computing thread uses this much of a processor at least once in `looksOfBlocked` looks, even
  /// when others compete for it.
  private static var computingTime: Int64 { pressureInterval / 20 }
  private static var looksOfBlocked: Int { 4 }
  private static var spinRounds: Int { 60 }
  private static var spinNanoseconds: Int64 { 100 }
  /// In this time a thread has come back from a short call.
  private static var callNanoseconds: Int64 { 1_000 }
  private static var shortSleep: Int64 { 20_000 }

  package init(target: Int, maximum: Int, label: Text?, clock: Clock) {
    size = target
    self.clock = clock
    super.init(label: label, PoolMachine(target: target, maximum: maximum))
    // An array's first allocation may create its type under a lock of the Swift run time. That must
    // not happen on a pool thread, beside which another thread may fork.
    parked.reserveCapacity(min(Int(machine.maximum), 64))
    workers.reserveCapacity(min(Int(machine.maximum), 64))
  }

  // An armed timer retains the pool, so this one is not armed.
  deinit { pressureTimer.deallocate() }

  package var threadCount: Int { Int(lock.withLock { machine.threads }) }

  override var standing: Text {
    lock.lock()
    defer { lock.unlock() }
    let areInCalls = machine.threads > 0 && machine.coming == 0 && machine.parked == 0
    if !areInCalls { return "no thread of its pool comes to it" }
    return machine.threads == 1
      ? "the only thread of its pool is in a call"
      : "all " + Text(machine.threads) + " threads of its pool are in calls"
  }

  @_optimize(speed)
  override func submit(_ item: ReadyRing.Item) {
    let pool = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    let comesBack = CallFrame.innermost?.pointee.home == pool
    lock.lock()
    appendLocked(item, isUrgent: !comesBack)
    unlockAndAct(on: machine.provide(for: ring.count))
  }

  /// Makes the threads end when nothing waits any more.
  package func stop() {
    lock.lock()
    machine.stop()
    let sleepers = parked
    parked = []
    lock.unlock()
    for sleeper in sleepers { Self.wake(sleeper) }
  }

  /// Called by the clock: checks whether anything moves.
  func checkPressure() {
    lock.lock()
    let computing = machine.looksStuck(ring.count) ? countComputingLocked() : 0
    let provision = machine.look(ring.count, hasGoneOn: hasGoneOn(), computing: computing)
    let isWatched = machine.isWatched
    unlockAndAct(on: provision)
    if isWatched { watchPressure() }
  }

  /// How many threads have been computing since the last call. Releases the lock and takes it
  /// again.
  private func countComputingLocked() -> Int {
    let clocks = workers.map { $0.clock }
    lock.unlock()
    let times = clocks.map { inturn_system_thread_time($0) }
    lock.lock()
    var count = 0
    // Threads that have come or gone meanwhile do not match their places and do not count.
    for place in 0..<min(clocks.count, workers.count) where workers[place].clock == clocks[place] {
      let hasGrown = times[place] - workers[place].used > Self.computingTime
      workers[place].looks = hasGrown ? 0 : workers[place].looks + 1
      workers[place].used = times[place]
      if workers[place].looks < Self.looksOfBlocked { count += 1 }
    }
    return count
  }

  /// Releases the lock and carries out the machine's decision.
  @inline(__always)
  private func unlockAndAct(on provision: PoolMachine.Provision) {
    let sleeper = provision == .wake ? parked.removeLast() : nil
    lock.unlock()
    if let sleeper { Self.wake(sleeper) }
    if provision == .start { startThread() }
    if provision == .watch { watchPressure() }
  }

  private func watchPressure() {
    clock.arm(
      pressureTimer, at: clock.moment(after: Self.pressureInterval),
      for: .pool(self))
  }

  private static func wake(_ parker: Parker) {
    parker.pointee.store(1, ordering: .releasing)
    parker.wakeOne()
  }

  // MARK: A worker's life

  private func startThread() {
    // It would call nothing.
    if ProcessState.isExiting { return }
    let context = Unmanaged.passRetained(self)
    let started = (label ?? "inturn-worker").withCString {
      inturn_system_start_thread(
        $0, { Unmanaged<WorkerPool>.fromOpaque($0!).takeRetainedValue().work() },
        context.toOpaque())
    }
    if !started {
      context.release()
      lock.lock()
      let isNews = !isShortOfThreads
      isShortOfThreads = true
      unlockAndAct(on: machine.startFails(ring.count))
      if isNews { Report.noThread(pool: label).send() }
    }
  }

  @_optimize(speed)
  private func work() {
    var worker = Worker()
    let clock = inturn_system_thread_clock()
    lock.lock()
    workers.append(Listed(parker: worker.parker, clock: clock))
    isShortOfThreads = false
    machine.arrives()
    var budget = DrainBudget(remaining: Int.max)
    budget.begin(at: self)
    while let item = nextLocked(&worker) {
      budget.remaining = Int.max
      item.run(&budget)
      if !budget.isStillOurs { return }
      lock.lock()
    }
    budget.dropSpareGate()
    worker.parker.deallocate()
  }

  /// Waits for the next item. Nil when this thread has to end. Releases the lock.
  @_optimize(speed)
  private func nextLocked(_ worker: inout Worker) -> ReadyRing.Item? {
    let parker = worker.parker
    var hasIdledLong = false
    while true {
      switch machine.next(
        ring.count, looksAround: worker.looksAround, hasIdledLong: hasIdledLong)
      {
      case .take:
        let item = popLocked()
        unlockAndAct(on: machine.provide(for: ring.count))
        return item
      case .spin:
        lock.unlock()
        lookAround()
        lock.lock()
        machine.stopsSpinning()
        worker.looksAround = ring.count > 0
      case .park:
        parker.pointee.store(0, ordering: .relaxed)
        parked.append(parker)
        let isSurplus = machine.threads > machine.target
        lock.unlock()
        let begin = inturn_system_now()
        hasIdledLong = !sleep(parker, isSurplus: isSurplus)
        worker.looksAround = inturn_system_now() - begin < Self.shortSleep
        lock.lock()
        if let place = parked.firstIndex(of: parker) {
          parked.remove(at: place)
          machine.unparks()
          continue
        }
        if hasIdledLong {
          // Another thread is about to wake this one, and must still find its word.
          lock.unlock()
          hasIdledLong = !sleep(parker, isSurplus: false)
          lock.lock()
        }
        machine.arrives()
      case .end:
        workers.removeAll { $0.parker == parker }
        lock.unlock()
        return nil
      }
    }
  }

  /// Returns when something waits for which no thread comes back, or when nothing has been taken for
  /// a while. While others take, it looks seldom: each look takes the cache line from them.
  private func lookAround() {
    var last = waiting
    var pause = Self.spinNanoseconds
    var round = 0
    while round < Self.spinRounds {
      let now = waiting
      let isMoving = now.taken != last.taken
      let isLeft = now.count == 1 && !isMoving && pause == Self.callNanoseconds
      if now.isUrgent || now.count > 1 || isLeft { return }
      round = isMoving ? 0 : round + 1
      pause = isMoving || now.count == 1 ? Self.callNanoseconds : Self.spinNanoseconds
      last = now
      inturn_system_spin(pause)
    }
  }

  /// Whether a thread of a pool sleeps at this address when it has nothing to do.
  static func isParker(_ address: UInt) -> Bool {
    Engine.withObjects { objects in
      for index in objects.executors.givenOut {
        let pool = objects.executors.object(at: index)?.object as? WorkerPool
        let isThere = pool?.lock.withLock {
          pool!.workers.contains { UInt(bitPattern: $0.parker) == address }
        }
        if isThere == true { return true }
      }
      return false
    }
  }

  /// Sleeps until the word is set. False on a time-out.
  private func sleep(_ parker: Parker, isSurplus: Bool) -> Bool {
    let limit = WaitLimit(timeoutNanoseconds: isSurplus ? Self.surplusIdle : -1)
    while true {
      let seen = parker.pointee.load(ordering: .acquiring)
      if seen & 1 != 0 { return true }
      let rest = limit.remaining
      // A process that exits wakes nobody.
      if rest == nil && !ProcessState.isExiting { return false }
      parker.wait(while: seen, timeoutNanoseconds: rest ?? -1)
    }
  }
}
