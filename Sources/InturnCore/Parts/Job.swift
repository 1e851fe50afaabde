/// One entry of a lane's buffer, which stands for a pending operation.
///
/// An operation without options or handle needs no more than these three words. Any other has a
/// slot: then `work` is none, and `context` points to the slot.
struct Job {
  var work: Work
  var context: UnsafeMutableRawPointer?
  var destroy: RawDestroy?

  @inline(__always)
  init(work: Work = .none, context: UnsafeMutableRawPointer?, destroy: RawDestroy?) {
    self.work = work
    self.context = context
    self.destroy = destroy
  }

  init(slot: OperationSlot.Pointer) {
    self.init(context: UnsafeMutableRawPointer(slot), destroy: nil)
  }

  /// The slot, if the job has one.
  @inline(__always)
  var slot: OperationSlot.Pointer? {
    if !work.isNone { return nil }
    return context.unsafelyUnwrapped.assumingMemoryBound(to: OperationSlot.self)
  }
}
