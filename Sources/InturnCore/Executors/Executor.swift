import Synchronization

/// Where work is called. Its subclasses are `WorkerPool`, `HostExecutor` and `OutsideExecutor`.
package class Executor: @unchecked Sendable {
  // Safe to share: `lock` protects `ring` and whatever subclasses say it protects.

  /// Protects `ring` and the subclass's state.
  let lock = BriefLock()
  @exclusivity(unchecked) var ring = ReadyRing()
  /// What `waiting` returns: one word, beside the lock and the ring, as each further cache line would
  /// have to come from the other processor, too. Relaxed: a hint.
  private let waitingBits = Atomic<UInt64>(0)
  /// How many queues use the executor; protected by the engine's object lock.
  @exclusivity(unchecked) package var users = 0
  /// Set before the executor is shared; null for one without a handle.
  @exclusivity(unchecked) final var handle = Handle(bits: 0)
  /// The name of a pool's threads.
  let label: String?

  init(label: String?) { self.label = label }

  /// Hands over an item. The executor calls it later, never inside this call.
  func submit(_ item: ReadyRing.Item) { fatalError("a subclass says how") }

  /// Whether a drainer has gone on while only its own lane's drainers waited, since this was last
  /// read. Rarely written, so that drainers can read it all the time. Relaxed: a hint.
  final let hasGoneOn = Atomic(false)

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
  final var waiting: Waiting { Waiting(bits: waitingBits.load(ordering: .relaxed)) }

  @inline(__always)
  private func publishLocked(isUrgent: Bool) {
    let taken = UInt64(truncatingIfNeeded: ring.taken)
    waitingBits.store(
      taken << 33 | (isUrgent ? 1 << 32 : 0) | UInt64(ring.count), ordering: .relaxed)
  }

  /// Whether anything waits.
  @inline(__always)
  final var hasWaiting: Bool { waiting.count > 0 }

  /// Whether something waits besides `drainers` drainers of the lane that asks.
  @inline(__always)
  final func hasWaiting(besides drainers: UInt16) -> Bool {
    let count = waiting.count
    if count == 0 { return false }
    if count > drainers { return true }
    if !hasGoneOn.load(ordering: .relaxed) { hasGoneOn.store(true, ordering: .relaxed) }
    return false
  }

  /// Why nothing that waits is being called, in words; asked when nothing has been for a while.
  var standing: String { fatalError("a subclass says why") }

  /// Whether somebody waits for what is in the lane whose own it is. The lane is locked.
  var isAwaited: Bool { false }

  /// How many items have been taken so far.
  final var taken: Int { lock.withLock { ring.taken } }

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
