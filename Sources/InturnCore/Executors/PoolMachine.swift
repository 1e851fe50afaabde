/// What a pool of threads decides, as a value: who comes for what waits. Its pool asks it under the
/// pool's lock and acts on the answers afterwards.
///
/// A thread is *coming* from when it is started or woken, or looks around, until it has the lock and
/// looks at what waits; otherwise it is *parked*, asleep, or in a call. What is to be upheld, and
/// tested for every reachable state: when something waits, somebody is coming for it, or the clock
/// looks again soon, or all of the threads that there may be are in calls, after which each looks.
struct PoolMachine: Hashable {
  /// How many threads are started as soon as none is idle.
  let target: Int
  /// How many there may be while those that exist are blocked in calls.
  let maximum: Int
  /// After so many looks in a row that find all at work and nothing moved, one of them counts as
  /// blocked all the same: it may be waiting, busily, for what waits here.
  let patience: Int
  /// All that have been started and have not ended.
  private(set) var threads = 0
  private(set) var coming = 0
  private(set) var parked = 0
  /// One of those that are coming looks around before it sleeps.
  private(set) var isSpinning = false
  /// The clock is to look.
  private(set) var isWatched = false
  /// Threads end when nothing waits.
  private(set) var isStopping = false
  /// A thread could not be started. The clock's next look tries again, nobody before it.
  private(set) var hasFailed = false
  /// Whether something has been taken since the clock's last look.
  private var hasMoved = false
  private var looksInVain = 0

  init(target: Int, maximum: Int, patience: Int = 200) {
    self.target = target
    self.maximum = max(target, maximum)
    self.patience = patience
  }

  /// What the pool does for what waits.
  enum Provision: Hashable {
    /// Nothing: that is seen to.
    case enough
    /// Wakes the thread that was the last to park.
    case wake
    case start
    /// Has the clock look soon.
    case watch
  }

  /// Sees to what waits. To be asked whenever something has come in, and whenever one of those that
  /// were coming does something else.
  mutating func provide(for waiting: Int) -> Provision {
    if coming >= waiting { return .enough }
    if parked > 0 {
      parked -= 1
      coming += 1
      return .wake
    }
    if threads < target && !hasFailed { return start() }
    // Who is coming asks for the rest. At the maximum, each thread does after its call.
    if coming > 0 || isWatched || threads == maximum { return .enough }
    isWatched = true
    hasMoved = false
    return .watch
  }

  private mutating func start() -> Provision {
    threads += 1
    coming += 1
    return .start
  }

  /// The thread that was to be started is not.
  mutating func startFails(_ waiting: Int) -> Provision {
    threads -= 1
    coming -= 1
    hasFailed = true
    return provide(for: waiting)
  }

  /// Whether the clock's next look depends on how many threads are computing.
  func looksStuck(_ waiting: Int) -> Bool { waiting > 0 && coming == 0 && !hasMoved }

  /// The clock looks. When nothing has moved since its last look, threads that have not been
  /// computing since count as blocked, and it starts one more in place of them. Afterwards
  /// `isWatched` says whether it is to look again.
  mutating func look(_ waiting: Int, hasGoneOn: Bool, computing: Int = 0) -> Provision {
    var isStuck = looksStuck(waiting) && !hasGoneOn
    looksInVain = isStuck && computing >= target ? looksInVain + 1 : 0
    if looksInVain >= patience {
      looksInVain = 0
    } else if looksInVain > 0 {
      isStuck = false
    }
    hasMoved = false
    hasFailed = false
    var provision = provide(for: waiting)
    if provision == .enough && isStuck && threads < maximum { provision = start() }
    isWatched = waiting > 0 && threads < maximum
    return provision
  }

  // MARK: A thread's life

  /// What a thread does next. One that takes something asks for a provision for the rest.
  enum Next: Hashable { case take, spin, park, end }

  /// A thread that was coming has the lock.
  mutating func arrives() { coming -= 1 }

  /// A thread has looked around for long enough, and has the lock.
  mutating func stopsSpinning() {
    isSpinning = false
    arrives()
  }

  /// A parked thread woke by itself, and has the lock.
  mutating func unparks() { parked -= 1 }

  /// What a thread that has the lock does. One above the target that has been idle for long ends.
  mutating func next(_ waiting: Int, looksAround: Bool, hasIdledLong: Bool = false) -> Next {
    if waiting > 0 {
      hasMoved = true
      return .take
    }
    if isStopping || (hasIdledLong && threads > target) {
      threads -= 1
      return .end
    }
    if looksAround && !isSpinning {
      isSpinning = true
      coming += 1
      return .spin
    }
    parked += 1
    return .park
  }

  /// Lets the threads end when nothing waits any more. All that are parked are to be woken.
  mutating func stop() {
    isStopping = true
    coming += parked
    parked = 0
  }
}
