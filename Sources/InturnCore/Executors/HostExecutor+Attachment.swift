import CInturnSystem
import Synchronization

/// An event loop that has taken an executor over: one at a time, and only its thread drains.
extension HostExecutor {
  /// Who has taken the executor over. The lock of `Executor` protects it.
  struct Attachment {
    /// What kind of loop it is, so that another kind does not take `data` for its own.
    let loop: String
    /// The loop's own; never touched here.
    let data: UnsafeMutableRawPointer?

    /// By the bytes: see `Bytes`.
    func isOf(_ loop: String) -> Bool { self.loop.utf8.elementsEqual(loop.utf8) }
  }

  /// Takes the executor over for the calling thread. Refused to a second loop, to other threads
  /// than the main one for the main executor, and while another thread drains.
  package func attach(loop: String, data: UnsafeMutableRawPointer?) -> Status {
    if isOffMainThread { return .wrongThread }
    lock.lock()
    defer { lock.unlock() }
    if attachedThread != 0 { return .busy }
    if isDrainedLocked && !isDrainedByCaller { return .wrongThread }
    attachment = Attachment(loop: loop, data: data)
    attachedThread = inturn_system_thread()
    Engine.current.pointee.waits.attachments.wrappingAdd(1, ordering: .relaxed)
    return .ok
  }

  /// The data of the loop of this kind; `.invalidArgument` when no such one is attached.
  package func attachedData(loop: String) -> (Status, UnsafeMutableRawPointer?) {
    lock.lock()
    let attachment = attachment
    lock.unlockAfterReadingObject()
    guard let attachment, attachment.isOf(loop) else { return (.invalidArgument, nil) }
    return (.ok, attachment.data)
  }

  /// Gives the executor back. From any thread, as a loop may end elsewhere than it ran; refused
  /// while another thread drains.
  package func detach(loop: String) -> Status {
    lock.lock()
    let old = attachment
    let isLoops = old?.isOf(loop) == true
    let isInUse = isDrainedLocked && !isDrainedByCaller
    if isLoops && !isInUse {
      attachment = nil
      attachedThread = 0
      Engine.current.pointee.waits.attachments.wrappingSubtract(1, ordering: .relaxed)
    }
    lock.unlockAfterReadingObject()
    // The name goes here, after the lock.
    withExtendedLifetime(old) {}
    if !isLoops { return .invalidArgument }
    return isInUse ? .wrongThread : .ok
  }

  var isAttachedElsewhereLocked: Bool {
    attachedThread != 0 && attachedThread != inturn_system_thread()
  }

  /// Whether a drain of it is further up the caller's stack.
  private var isDrainedByCaller: Bool {
    let own = Unmanaged<Executor>.passUnretained(self).toOpaque()
    return CallFrame.first { $0.executor?.toOpaque() == own } != nil
  }
}
