import Inturn

/// The place of a task that cannot be refused and has neither a name nor limits: a plain operation
/// of its lane, which a cancel-all only marks.
@usableFromInline
class PlainPlace: Place, @unchecked Sendable {
  // Safe to share: see the superclass; `isMarked` is written before the task begins.

  /// Whether it was asked to end before it started.
  final nonisolated(unsafe) var isMarked = false

  /// Its context for the lane, with a tag.
  final func context(_ tag: UInt) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) | tag
  }

  /// Enqueues it with a tag. False when the queue refuses it.
  @discardableResult
  final func enqueue(tag: UInt) -> Bool {
    let reference = Unmanaged.passRetained(self)
    let status = Engine.enqueueObstinate(
      core.queue, at: site, context: context(tag)
    ) {
      Place.reference(UInt(bitPattern: $0)).release()
    }
    if status == .ok { return true }
    reference.release()
    isRefused(QueueError(status))
    return false
  }
}
