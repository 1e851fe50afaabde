import Inturn
import Synchronization

/// A queue's hold on its actor, independent of the actor's type.
protocol AnyActorPin: AnyObject, Sendable {
  /// Starts a session on the actor. False when the actor is gone, and with it everything that was
  /// pending.
  func start(_ session: DrainSession, _ turn: OutsideExecutor.Turn) -> Bool

  /// Releases the actor, unless an enqueue is under way or something is pending.
  func unpin(_ core: QueueCore)
}

/// An actor queue's actor: held weakly, and kept alive while plain operations need it.
final class ActorPin<ActorType: Actor>: AnyActorPin, @unchecked Sendable {
  // Safe to share: `lock` protects everything that changes.

  /// Protects everything below.
  private let lock = BriefLock()
  @exclusivity(unchecked) private weak var adopted: ActorType?
  @exclusivity(unchecked) private var isAdopted = false
  /// Set from an enqueue until nothing is pending.
  @exclusivity(unchecked) private var pinned: ActorType?
  /// How many enqueues are under way.
  @exclusivity(unchecked) private var enqueues = 0
  /// How many enqueues there have been.
  @exclusivity(unchecked) private var begun = 0
  /// Whether the actor was kept because enqueues were under way.
  @exclusivity(unchecked) private var wasKept = false
  private let isImmortal: Bool

  init() { isImmortal = false }

  /// A pin for an actor that lives as long as the process.
  init(immortal actor: ActorType) {
    isImmortal = true
    isAdopted = true
    pinned = actor
  }

  /// Sets the queue's actor. False when there is one already.
  func adopt(_ actor: ActorType) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    if isAdopted { return false }
    isAdopted = true
    adopted = actor
    return true
  }

  /// The actor, while it lives.
  var actor: ActorType? { lock.withLock { pinned ?? adopted } }

  /// Keeps the actor alive for an operation that is about to be enqueued; `enqueueEnds` follows.
  /// False when there is no actor.
  @inline(__always)
  func enqueueBegins() -> Bool {
    if isImmortal { return true }
    lock.lock()
    defer { lock.unlock() }
    if pinned == nil {
      // Reading a weak reference costs more than the rest, so it is done once for many operations.
      pinned = adopted
      if pinned == nil { return false }
    }
    enqueues += 1
    begun += 1
    return true
  }

  /// After a refusal, nothing that is pending may need the actor.
  @inline(__always)
  func enqueueEnds(_ core: QueueCore, isRefused: Bool) {
    if isImmortal { return }
    lock.lock()
    enqueues -= 1
    let isToBeUnpinned = (wasKept || isRefused) && enqueues == 0
    lock.unlock()
    if isToBeUnpinned { unpin(core) }
  }

  func start(_ session: DrainSession, _ turn: OutsideExecutor.Turn) -> Bool {
    // It is pinned while anything is pending, so if it is gone, a cancel-all has just unpinned it.
    guard let actor else { return false }
    // The session releases the actor when it ends.
    session.core.interests.bitwiseAnd(~QueueCore.Interest.pin, ordering: .relaxed)
    session.adopt(
      Task.detached(priority: session.taskPriority) { await session.runJobs(on: actor, turn) })
    return true
  }

  func unpin(_ core: QueueCore) {
    if isImmortal { return }
    var before: Int?
    while let begun = letGo(since: before, core) {
      // The pending operations may be tasks with turns of their own, after which nobody else would
      // unpin.
      core.interests.bitwiseOr(QueueCore.Interest.pin, ordering: .sequentiallyConsistent)
      // Without the lock: the engine may start something in here, such as a session.
      if Engine.statistics(of: core.queue).1.pending != 0 { return }
      before = begun
    }
  }

  /// The number of enqueues so far, if none is under way and an actor is kept; otherwise nil. If
  /// the number is still `before`, nothing has been enqueued since, and the actor is released.
  private func letGo(since before: Int?, _ core: QueueCore) -> Int? {
    lock.lock()
    var last: ActorType?
    // An enqueue that begins later pins it again; one that is under way unpins it when it ends.
    wasKept = enqueues > 0
    if enqueues == 0 && before == begun {
      swap(&last, &pinned)
      core.interests.bitwiseAnd(~QueueCore.Interest.pin, ordering: .relaxed)
    }
    let begun = enqueues == 0 && pinned != nil ? self.begun : nil
    lock.unlock()
    // Released without the lock.
    withExtendedLifetime(last) {}
    return begun
  }
}
