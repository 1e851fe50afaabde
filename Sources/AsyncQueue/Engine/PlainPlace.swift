import Inturn

/// The place of a task that cannot be refused, and has neither name nor limits: a plain operation of
/// its lane, which a cancel of all only marks.
@usableFromInline
class PlainPlace: OwnedFrame, @unchecked Sendable {
  // Safe to share: as its superclass; `isMarked` is written before its task begins.

  /// Whether it was asked to end before it started.
  final nonisolated(unsafe) var isMarked = false

  /// What it is for the lane, under a tag.
  final func context(_ tag: UInt) -> UInt {
    UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) | tag
  }

  /// Puts it into the queue, under a tag. Whether that has accepted it.
  @discardableResult
  final func enqueue(tag: UInt) -> Bool {
    let reference = Unmanaged.passRetained(self)
    let status = Engine.enqueueObstinate(
      core.queue, at: site, context: context(tag)
    ) {
      OwnedFrame.reference(UInt(bitPattern: $0)).release()
    }
    if status == .ok { return true }
    reference.release()
    isRefused(QueueError(status))
    return false
  }
}
