import Synchronization

/// Where work is called. Its subclasses are `WorkerPool`, `HostExecutor` and `OutsideExecutor`.
package class Executor: @unchecked Sendable {
  // Safe to share: `lock` protects `ring` and whatever subclasses say it protects.

  /// How many queues use the executor; protected by the engine's object lock.
  @exclusivity(unchecked) package var users = 0
  /// Set before the executor is shared; null for one without a handle.
  @exclusivity(unchecked) final var handle = Handle(bits: 0)
  /// The name of a pool's threads.
  let label: Text?
  /// Keeps what follows off the cache line of the reference count, which drainers write.
  private let padding: (UInt64, UInt64) = (0, 0)
  private let shared: UnsafeMutablePointer<Shared>

  /// What its threads and those that submit take from each other all the time. It is a cache line,
  /// wherever the heap is: each further one would have to come from the other processor, too, and so
  /// would this one whenever a neighbour on it is written.
  private struct Shared: ~Copyable {
    // First, because the thread sanitizer takes a change of any part for a change of the first field,
    // and the others are read without the lock.
    var ring = ReadyRing()
    let lock = BriefLock()
    /// What `waiting` returns. Relaxed: a hint.
    let waitingBits = Atomic<UInt64>(0)
    var machine: PoolMachine
    /// Whether a drainer has gone on while only its own lane's drainers waited, since this was last
    /// read. Relaxed: a hint.
    let hasGoneOn = Atomic(false)

    static var byteCount: Int { 64 }
  }

  /// Protects `ring` and the subclass's state.
  final var lock: BriefLock { _read { yield shared.pointee.lock } }
  final var ring: ReadyRing {
    _read { yield shared.pointee.ring }
    _modify { yield &shared.pointee.ring }
  }
  /// Used by pools alone.
  final var machine: PoolMachine {
    _read { yield shared.pointee.machine }
    _modify { yield &shared.pointee.machine }
  }

  init(label: Text?, _ machine: PoolMachine = PoolMachine(target: 0, maximum: 0)) {
    self.label = label
    precondition(MemoryLayout<Shared>.size <= Shared.byteCount)
    shared = UnsafeMutableRawPointer.allocate(
      byteCount: Shared.byteCount, alignment: Shared.byteCount
    ).bindMemory(to: Shared.self, capacity: 1)
    shared.initialize(to: Shared(machine: machine))
  }

  deinit {
    shared.deinitialize(count: 1)
    shared.deallocate()
  }

  /// Hands over an item. The executor calls it later, never inside this call.
  func submit(_ item: ReadyRing.Item) { fatalError("a subclass says how") }

  /// What waits, to be read without the lock.
  struct Waiting {
    fileprivate let bits: UInt64

    @inline(__always)
    var count: UInt32 { UInt32(truncatingIfNeeded: bits) }
    /// Among them is an item for which no thread comes back.
    var isUrgent: Bool { bits & (1 << 32) != 0 }
    /// Changes with each item that is taken.
    var taken: UInt64 { bits >> 33 }
  }

  @inline(__always)
  final var waiting: Waiting { Waiting(bits: shared.pointee.waitingBits.load(ordering: .relaxed)) }

  @inline(__always)
  private func publishLocked(isUrgent: Bool) {
    let taken = UInt64(truncatingIfNeeded: ring.taken)
    shared.pointee.waitingBits.store(
      taken << 33 | (isUrgent ? 1 << 32 : 0) | UInt64(ring.count), ordering: .relaxed)
  }

  /// Whether `hasWaiting(besides:)` has let a drainer go on since this was last asked.
  final func hasGoneOn() -> Bool { shared.pointee.hasGoneOn.exchange(false, ordering: .relaxed) }

  /// Whether anything waits.
  @inline(__always)
  final var hasWaiting: Bool { waiting.count > 0 }

  /// Whether something waits besides `drainers` drainers of the lane that asks.
  @inline(__always)
  final func hasWaiting(besides drainers: UInt16) -> Bool {
    let count = waiting.count
    if count == 0 { return false }
    if count > drainers { return true }
    if !shared.pointee.hasGoneOn.load(ordering: .relaxed) {
      shared.pointee.hasGoneOn.store(true, ordering: .relaxed)
    }
    return false
  }

  /// Why nothing that waits is being called, in words; asked when nothing has been for a while.
  var standing: Text { fatalError("a subclass says why") }

  /// Whether somebody waits for what is in the lane whose own it is. The lane is locked.
  var isAwaited: Bool { false }

  /// How many items have been taken so far.
  final var taken: UInt32 { lock.withLock { ring.taken } }

  @inline(__always)
  final func appendLocked(_ item: ReadyRing.Item, isUrgent: Bool = false) {
    ring.append(item)
    publishLocked(isUrgent: isUrgent || waiting.isUrgent)
  }

  @inline(__always)
  final func popLocked() -> ReadyRing.Item? {
    let item = ring.popFirst()
    publishLocked(isUrgent: ring.count > 0 && waiting.isUrgent)
    return item
  }
}
