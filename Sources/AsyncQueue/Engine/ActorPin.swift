import Inturn
import Synchronization

/// What a queue knows of its actor whatever that is.
class AnyActorPin: @unchecked Sendable {
  // Safe to share: a subclass says why.

  /// Starts a session on the actor. False when that is gone, and with it all that was pending.
  func start(_ session: DrainSession, _ turn: OutsideExecutor.Turn) -> Bool {
    fatalError("a subclass says how")
  }

  /// Lets go of the actor, unless something is being enqueued, or is pending.
  func unpin(_ core: QueueCore) { fatalError("a subclass says how") }
}

/// An actor queue's actor: held weakly, and kept alive as long as plain operations need it.
final class ActorPin<ActorType: Actor>: AnyActorPin, @unchecked Sendable {
  // Safe to share: `lock` protects all that changes.

  /// Protects what follows.
  private let lock = BriefLock()
  @exclusivity(unchecked) private weak var adopted: ActorType?
  @exclusivity(unchecked) private var isAdopted = false
  /// From an enqueue until nothing is pending.
  @exclusivity(unchecked) private var pinned: ActorType?
  /// How many enqueues are under way.
  @exclusivity(unchecked) private var enqueues = 0
  /// How many there have been.
  @exclusivity(unchecked) private var begun = 0
  /// Whether it was kept because of those under way.
  @exclusivity(unchecked) private var wasKept = false
  private let isImmortal: Bool

  override init() { isImmortal = false }

  /// A pin of an actor that lives as long as the process.
  init(immortal actor: ActorType) {
    isImmortal = true
    isAdopted = true
    pinned = actor
  }

  /// Takes the queue's actor. False when there was one already.
  func adopt(_ actor: ActorType) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    if isAdopted { return false }
    isAdopted = true
    adopted = actor
    return true
  }

  /// The actor, as long as it lives.
  var actor: ActorType? {
    lock.lock()
    defer { lock.unlockAfterReadingObject() }
    return pinned ?? adopted
  }

  /// Keeps the actor alive for an operation that is about to be enqueued; `enqueueEnds` follows.
  /// False when there is none.
  @inline(__always)
  func enqueueBegins() -> Bool {
    if isImmortal { return true }
    lock.lock()
    defer { lock.unlock() }
    if pinned == nil {
      // Looking at a weak reference costs more than the rest: once for many operations.
      pinned = adopted
      if pinned == nil { return false }
    }
    enqueues += 1
    begun += 1
    return true
  }

  @inline(__always)
  func enqueueEnds(_ core: QueueCore) {
    if isImmortal { return }
    lock.lock()
    enqueues -= 1
    let isToBeUnpinned = wasKept && enqueues == 0
    lock.unlock()
    if isToBeUnpinned { unpin(core) }
  }

  override func start(_ session: DrainSession, _ turn: OutsideExecutor.Turn) -> Bool {
    // It is pinned while anything is pending: who has just cancelled that all has unpinned it.
    guard let actor else { return false }
    // At its end it lets go of the actor.
    session.core.interests.bitwiseAnd(~QueueCore.Interest.pin, ordering: .relaxed)
    session.adopt(
      Task.detached(priority: session.priority.task) { await session.runJobs(on: actor, turn) })
    return true
  }

  override func unpin(_ core: QueueCore) {
    if isImmortal { return }
    var before: Int?
    while let begun = letGo(since: before, core) {
      // What is pending may be tasks with turns of their own, after which nobody else would.
      core.interests.bitwiseOr(QueueCore.Interest.pin, ordering: .sequentiallyConsistent)
      // Without the lock: the engine may have something to do, such as having a session start.
      if Engine.statistics(of: core.queue).1.pending != 0 { return }
      before = begun
    }
  }

  /// How many enqueues have begun, if none is under way and an actor is kept; else nil. When there are
  /// no more than before, the actor is let go of: nothing has come since that was asked.
  private func letGo(since before: Int?, _ core: QueueCore) -> Int? {
    lock.lock()
    var last: ActorType?
    // An enqueue that begins later pins it again; one that is under way unpins it at its end.
    wasKept = enqueues > 0
    if enqueues == 0 && before == begun {
      swap(&last, &pinned)
      core.interests.bitwiseAnd(~QueueCore.Interest.pin, ordering: .relaxed)
    }
    let begun = enqueues == 0 && pinned != nil ? self.begun : nil
    lock.unlock()
    // Let go of after the lock.
    withExtendedLifetime(last) {}
    return begun
  }
}
