internal import InturnCore

/// An actor queue's actor: held weakly, and kept alive as long as plain operations need it.
final class ActorPin<ActorType: Actor>: @unchecked Sendable {
  // Safe to share: `lock` protects all that changes.

  /// Protects what follows.
  private let lock = BriefLock()
  @exclusivity(unchecked) private weak var adopted: ActorType?
  @exclusivity(unchecked) private var isAdopted = false
  @exclusivity(unchecked) private var pinned: ActorType?
  @exclusivity(unchecked) private var pins = 0

  init() {}

  /// A pin of an actor that lives as long as the process.
  init(immortal actor: ActorType) {
    isAdopted = true
    pinned = actor
    pins = 1
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

  /// Keeps the actor alive until `unpin`. False when there is none.
  @inline(__always)
  func pin() -> Bool {
    lock.lock()
    defer { lock.unlock() }
    if pins == 0 {
      // Looking at a weak reference costs more than the rest: once for many operations.
      pinned = adopted
      if pinned == nil { return false }
    }
    pins += 1
    return true
  }

  @inline(__always)
  func unpin() {
    lock.lock()
    pins -= 1
    var last: ActorType?
    if pins == 0 {
      last = pinned
      pinned = nil
    }
    lock.unlock()
    // Let go of after the lock.
    withExtendedLifetime(last) {}
  }
}
