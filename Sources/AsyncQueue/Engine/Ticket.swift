import Inturn

/// The plain place of a task in an actor's queue.
///
/// Once claimed, it is over for the lane, which may offer the next operation; the core knows that
/// it runs.
final class Ticket: PlainPlace, @unchecked Sendable {
  // Safe to share: see the superclass.

  private var context: UInt { context(LaneDrainer.claimedTag) }

  func enqueue() { enqueue(tag: LaneDrainer.claimedTag) }

  override func claim() -> Bool {
    // First, so that whoever looks for running operations or cancels all finds it here or in the
    // lane.
    core.begin(self)
    guard let claim = Engine.claim(context, of: core.queue, whenPlain: core.noteBegun) else {
      core.end(self)
      return false
    }
    // The queue's reference.
    Unmanaged.passUnretained(self).release()
    isMarked = claim.isAskedToEnd
    isClaimed(claim.token)
    if let next = claim.offered { core.offer(next) }
    return true
  }

  @usableFromInline override func begin() {
    if isMarked { askCurrentTaskToEnd() }
    core.progressed()
  }

  @usableFromInline @discardableResult override func finish() -> Bool {
    letGo()
    core.end(self, hasBegun: true)
    core.progressed()
    return false
  }
}
