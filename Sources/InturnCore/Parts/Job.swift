/// One entry of a lane's buffer: what is known of a pending operation.
///
/// Three words are all that an operation without options or handle needs. Anything else has a
/// slot: then there is no `work`, and `context` points to it.
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

  /// The slot, of a job that has one.
  @inline(__always)
  var slot: OperationSlot.Pointer? {
    if !work.isNone { return nil }
    return context.unsafelyUnwrapped.assumingMemoryBound(to: OperationSlot.self)
  }
}
