import CInturnSystem
import Synchronization

/// Threads of the library that take what waits, first come, first served.
///
/// It starts a thread when an item finds none idle, up to `target`. When all of them are busy and
/// for a while none has come to another call, they count as blocked in calls: one more is started
/// each `pressureInterval`, up to `maximum`. Threads above the target end when they have been idle
/// for `surplusIdle`.
///
/// A thread that runs out of work looks around for a few microseconds before it sleeps, because
/// waking it costs more than that: one at a time, and only as long as it pays. One that has looked
/// in vain does so again only after a sleep that turned out short; otherwise it would keep a
/// processor from others and be moved to a colder one.
package final class WorkerPool: Executor, @unchecked Sendable {
  // Safe to share: `lock` of `Executor` protects all that changes.

  /// An idle thread's own word: raised when it is to look again.
  private typealias Parker = UnsafeMutablePointer<Atomic<UInt32>>

  /// What a worker knows of itself.
  private struct Worker {
    let parker = Parker.allocate(capacity: 1)
    /// Whether looking around before it sleeps has paid lately.
    var looksAround = true

    init() { parker.initialize(to: Atomic(0)) }
  }

  private let target: Int
  private let maximum: Int
  @exclusivity(unchecked) private var threads = 0
  /// The sleeping threads' words, the last to sleep at the end.
  @exclusivity(unchecked) private var parked: [Parker] = []
  /// All threads' words: so that they are found when a thread ends with the process.
  @exclusivity(unchecked) private var parkers: [Parker] = []
  @exclusivity(unchecked) private var isSomebodySpinning = false
  @exclusivity(unchecked) private var isStopping = false
  /// How many items have been taken, to see whether anything moves: see `hasGoneOn`, too.
  @exclusivity(unchecked) private var taken: UInt64 = 0
  @exclusivity(unchecked) private var takenAtLastCheck: UInt64 = 0
  @exclusivity(unchecked) private var isPressureWatched = false
  private let pressureTimer = TimerNode.Pointer.make()
  private let clock: Clock

  private static var pressureInterval: Int64 { 5_000_000 }
  private static var surplusIdle: Int64 { 1_000_000_000 }
  /// About 6 microseconds.
  private static var spinRounds: Int { 300 }
  private static var shortSleep: Int64 { 20_000 }

  package init(target: Int, maximum: Int, label: String?, clock: Clock) {
    self.target = target
    self.maximum = max(target, maximum)
    self.clock = clock
    super.init(label: label)
  }

  // An armed timer refers to the pool, so this one is not.
  deinit { pressureTimer.deallocate() }

  package var threadCount: Int { lock.withLock { threads } }

  package var size: Int { target }

  override func submit(_ item: ReadyRing.Item) {
    lock.lock()
    appendLocked(item)
    var sleeper: Parker?
    var startsThread = false
    var startsWatch = false
    if !isSomebodySpinning || ring.count > 1 {
      sleeper = parked.popLast()
      if sleeper == nil && !isSomebodySpinning {
        startsThread = threads < target
        if startsThread {
          threads += 1
        } else if !isPressureWatched && threads < maximum {
          isPressureWatched = true
          startsWatch = true
          takenAtLastCheck = taken
          hasGoneOn.store(false, ordering: .relaxed)
        }
      }
    }
    lock.unlock()
    if let sleeper { Self.wake(sleeper) }
    if startsThread { startThread() }
    if startsWatch { watchPressure() }
  }

  /// Lets the threads end when nothing waits any more.
  package func stop() {
    lock.lock()
    isStopping = true
    let sleepers = parked
    parked = []
    lock.unlock()
    for sleeper in sleepers { Self.wake(sleeper) }
  }

  /// The clock's: starts one more thread when nothing has moved since the last look.
  func checkPressure() {
    lock.lock()
    let hasGoneOn = hasGoneOn.exchange(false, ordering: .relaxed)
    let hasMoved = taken != takenAtLastCheck || hasGoneOn
    let isStuck = ring.count > 0 && !hasMoved && parked.isEmpty
    takenAtLastCheck = taken
    let startsThread = isStuck && threads < maximum
    if startsThread { threads += 1 }
    isPressureWatched = ring.count > 0 && threads < maximum
    let goesOn = isPressureWatched
    lock.unlock()
    if startsThread { startThread() }
    if goesOn { watchPressure() }
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
    let context = Unmanaged.passRetained(self)
    let started = inturn_system_start_thread(
      label ?? "inturn-worker",
      { Unmanaged<WorkerPool>.fromOpaque($0!).takeRetainedValue().work() },
      context.toOpaque())
    if !started {
      // Whoever is there goes on; the next submit tries again.
      context.release()
      lock.withLock { threads -= 1 }
    }
  }

  private func work() {
    var worker = Worker()
    lock.withLock { parkers.append(worker.parker) }
    var budget = DrainBudget(remaining: Int.max)
    while let item = next(&worker) {
      budget.remaining = Int.max
      item.run(&budget)
      if !budget.isStillOurs { return }
    }
    budget.dropSpareGate()
    worker.parker.deallocate()
  }

  /// The next item, waited for. Nil when this thread is to end.
  private func next(_ worker: inout Worker) -> ReadyRing.Item? {
    let parker = worker.parker
    lock.lock()
    while true {
      if let item = takeLocked() { return item }
      if isStopping { break }
      if worker.looksAround && !isSomebodySpinning {
        isSomebodySpinning = true
        lock.unlock()
        var round = 0
        while round < Self.spinRounds && !hasWaiting {
          inturn_system_pause()
          round += 1
        }
        lock.lock()
        isSomebodySpinning = false
        worker.looksAround = ring.count > 0
        if let item = takeLocked() { return item }
        if isStopping { break }
      }
      parker.pointee.store(0, ordering: .relaxed)
      parked.append(parker)
      let isSurplus = threads > target
      lock.unlock()
      let begin = inturn_system_now()
      sleep(parker, isSurplus: isSurplus)
      worker.looksAround = inturn_system_now() - begin < Self.shortSleep
      lock.lock()
      if let place = parked.firstIndex(of: parker) {
        // Nobody woke it: it has been idle for long.
        parked.remove(at: place)
        if threads > target { break }
      }
    }
    threads -= 1
    parkers.removeAll { $0 == parker }
    lock.unlock()
    return nil
  }

  /// Takes an item and gives the lock back; keeps the lock when there is none.
  private func takeLocked() -> ReadyRing.Item? {
    guard let item = popLocked() else { return nil }
    taken &+= 1
    let sleeper = ring.count > 0 && !isSomebodySpinning ? parked.popLast() : nil
    lock.unlock()
    if let sleeper { Self.wake(sleeper) }
    return item
  }

  private func sleep(_ parker: Parker, isSurplus: Bool) {
    let limit = WaitLimit(timeoutNanoseconds: isSurplus ? Self.surplusIdle : -1)
    while parker.pointee.load(ordering: .acquiring) == 0 {
      guard let rest = limit.remaining else { return }
      parker.wait(while: 0, timeoutNanoseconds: rest)
    }
  }
}
