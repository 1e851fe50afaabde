import Synchronization

/// Where work is called. One of `WorkerPool` and `HostExecutor`.
package class Executor: @unchecked Sendable {
  // Safe to share: `lock` protects `ring` and what subclasses say it protects.

  /// Protects `ring` and the subclass's state.
  let lock = BriefLock()
  @exclusivity(unchecked) var ring = ReadyRing()
  /// What `waiting` says. Relaxed: a hint.
  private let waitingBits = Atomic<UInt64>(0)
  /// How many queues use the executor; protected by the engine's object lock.
  @exclusivity(unchecked) package var users = 0
  /// Set before anybody has it; null of one without a handle.
  @exclusivity(unchecked) final var handle = Handle(bits: 0)
  /// What a pool's threads are called.
  let label: String?

  init(label: String?) { self.label = label }

  /// Hands over an item. The executor calls it later, never inside this call.
  func submit(_ item: ReadyRing.Item) { fatalError("a subclass says how") }

  /// Whether a drainer went on although something waited, since that was last looked at. Written
  /// seldom, so that drainers can look at it all the time. Relaxed: a hint.
  final let hasGoneOn = Atomic(false)

  /// How much waits, for looking without the lock.
  struct Waiting {
    fileprivate let bits: UInt64

    @inline(__always)
    var count: UInt32 { UInt32(truncatingIfNeeded: bits) }
    /// Another number after each item that is taken.
    var taken: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }
  }

  @inline(__always)
  final var waiting: Waiting { Waiting(bits: waitingBits.load(ordering: .relaxed)) }

  @inline(__always)
  private func publishLocked() {
    let taken = UInt64(truncatingIfNeeded: ring.taken)
    waitingBits.store(taken << 32 | UInt64(ring.count), ordering: .relaxed)
  }

  /// Whether anything waits.
  @inline(__always)
  final var hasWaiting: Bool { waiting.count > 0 }

  /// Whether something waits besides so many drainers of the lane that asks.
  @inline(__always)
  final func hasWaiting(besides drainers: UInt16) -> Bool {
    let count = waiting.count
    if count == 0 { return false }
    if count > drainers { return true }
    if !hasGoneOn.load(ordering: .relaxed) { hasGoneOn.store(true, ordering: .relaxed) }
    return false
  }

  /// Why nothing of what waits is called, in words; asked when nothing was for a while.
  var standing: String { fatalError("a subclass says why") }

  /// How many items have been taken so far.
  final var taken: Int { lock.withLock { ring.taken } }

  @inline(__always)
  final func appendLocked(_ item: ReadyRing.Item) {
    ring.append(item)
    publishLocked()
  }

  @inline(__always)
  final func popLocked() -> ReadyRing.Item? {
    let item = ring.popFirst()
    publishLocked()
    return item
  }
}
