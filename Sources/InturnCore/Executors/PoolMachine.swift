/// A thread pool's decisions, as a value: which thread comes for what waits. The pool asks under
/// its lock and acts on the answers afterwards.
///
/// A thread is *coming* from when it is started, woken or spins until it has the lock and looks at
/// what waits. Otherwise it is *parked*, asleep, or in a call. Invariant, tested for every
/// reachable state: when something waits, a thread is coming for it, or the clock will look soon,
/// or the maximum of threads exists and all are in calls, after which each of them looks.
struct PoolMachine: Hashable {
  /// How many threads are started without waiting, whenever none is idle.
  let target: UInt16
  /// How many threads may exist while others are blocked in calls.
  let maximum: UInt16
  /// After this many looks in a row that find all threads computing and nothing taken, one of them
  /// counts as blocked anyway: it may be spinning on something that waits here.
  let patience: UInt16
  /// Threads that were started and have not ended.
  private(set) var threads: UInt16 = 0
  private(set) var coming: UInt16 = 0
  private(set) var parked: UInt16 = 0
  /// Whether one of the coming threads spins before it sleeps.
  private(set) var isSpinning = false
  /// Whether the clock will look.
  private(set) var isWatched = false
  /// Whether threads end when nothing waits.
  private(set) var isStopping = false
  /// A thread could not be started. The clock's next look tries again, and nothing before it.
  private(set) var hasFailed = false
  /// Whether something has been taken since the clock's last look.
  private var hasMoved = false
  private var looksInVain: UInt16 = 0

  init(target: Int, maximum: Int, patience: UInt16 = 200) {
    self.target = UInt16(clamping: target)
    self.maximum = UInt16(clamping: max(target, maximum))
    self.patience = patience
  }

  /// What the pool has to do for what waits.
  enum Provision: Hashable {
    /// Nothing more is needed.
    case enough
    /// Wake the thread that parked last.
    case wake
    case start
    /// Make the clock look soon.
    case watch
  }

  /// Provides threads for what waits. Called whenever something is submitted, and whenever a coming
  /// thread turns to something else.
  mutating func provide(for waiting: Int) -> Provision {
    if coming >= waiting { return .enough }
    if parked > 0 {
      parked -= 1
      coming += 1
      return .wake
    }
    if threads < target && !hasFailed { return start() }
    // A coming thread asks for the rest. At the maximum, each thread asks after its call.
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

  /// A thread could not be started.
  mutating func startFails(_ waiting: Int) -> Provision {
    threads -= 1
    coming -= 1
    hasFailed = true
    return provide(for: waiting)
  }

  /// Whether the clock's next look depends on how many threads are computing.
  func looksStuck(_ waiting: Int) -> Bool { waiting > 0 && coming == 0 && !hasMoved }

  /// The clock looks. If nothing was taken since its last look, threads that have not been
  /// computing count as blocked, and one more thread is started. Afterwards `isWatched` says
  /// whether to look again.
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

  /// What a thread does next. After `take`, it calls `provide` for the rest.
  enum Next: Hashable { case take, spin, park, end }

  /// A coming thread has the lock.
  mutating func arrives() { coming -= 1 }

  /// A thread has spun for long enough and has the lock.
  mutating func stopsSpinning() {
    isSpinning = false
    arrives()
  }

  /// A parked thread has woken by itself and has the lock.
  mutating func unparks() { parked -= 1 }

  /// What a thread that has the lock does. A surplus thread that has been idle for long ends.
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

  /// Makes the threads end when nothing waits any more. The caller wakes all parked ones.
  mutating func stop() {
    isStopping = true
    coming += parked
    parked = 0
  }
}
