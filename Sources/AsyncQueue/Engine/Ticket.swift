import Inturn

/// The place of a task in an actor's queue that cannot be refused, and has neither name nor limits:
/// a plain operation of the lane.
///
/// Once it is claimed, it is over for the lane, which may offer the next one; the core knows that it
/// runs.
final class Ticket: OwnedFrame, @unchecked Sendable {
  // Safe to share: as its superclass; its task alone uses `isMarked`.

  /// Whether it was asked to end before it started.
  private nonisolated(unsafe) var isMarked = false

  private var context: UInt {
    UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) | LaneDrainer.claimedTag
  }

  /// Puts the ticket into the queue, unless that refuses it.
  func enqueue() -> Status {
    let reference = Unmanaged.passRetained(self)
    let status = Engine.enqueueObstinate(core.queue, context: context) {
      OwnedFrame.reference(UInt(bitPattern: $0)).release()
    }
    if status != .ok { reference.release() }
    return status
  }

  override func claim() -> Bool {
    // First, so that it is seen here or in the lane, by who looks for what runs and by who cancels all.
    core.begin(self)
    guard let claim = Engine.claim(context, of: core.queue, whenPlain: core.noteBegun) else {
      core.end(self)
      return false
    }
    // The queue's.
    Unmanaged.passUnretained(self).release()
    isMarked = claim.isAskedToEnd
    isClaimed(claim.token)
    if let next = claim.offered { core.offer(next) }
    return true
  }

  @usableFromInline override func begin() {
    isRun(by: RuntimeTask.current)
    if isMarked { withUnsafeCurrentTask { $0?.cancel() } }
    core.progressed()
  }

  @usableFromInline @discardableResult override func finish() -> Bool {
    letGo()
    core.end(self, hasBegun: true)
    core.progressed()
    return false
  }
}
