/// One entry of a lane's buffer: what is known of a pending operation.
///
/// Three words are all that an operation without options or handle needs. Anything else has a
/// slot: then `work` is nil and `context` points to it.
struct Job {
  var work: RawWork?
  var context: UnsafeMutableRawPointer?
  var destroy: RawDestroy?

  @inline(__always)
  init(work: RawWork?, context: UnsafeMutableRawPointer?, destroy: RawDestroy?) {
    self.work = work
    self.context = context
    self.destroy = destroy
  }

  init(slot: OperationSlot.Pointer) {
    self.init(work: nil, context: UnsafeMutableRawPointer(slot), destroy: nil)
  }

  /// The slot, of a job that has one.
  @inline(__always)
  var slot: OperationSlot.Pointer? {
    if work != nil { return nil }
    return context.unsafelyUnwrapped.assumingMemoryBound(to: OperationSlot.self)
  }
}
