import CInturnSystem
import Synchronization

/// Attaching an event loop to an executor: one at a time, and only its thread drains.
extension HostExecutor {
  /// The attached loop. The lock of `Executor` protects it.
  struct Attachment {
    /// The kind of loop, so that another kind does not use `data` as its own.
    let loop: Text
    /// The loop's data; never accessed here.
    let data: UnsafeMutableRawPointer?
  }

  /// Attaches a loop on the calling thread. Refused if a loop is attached, if another thread
  /// drains, and for the main executor on any thread but the main one.
  package func attach(loop: Text, data: UnsafeMutableRawPointer?) -> Status {
    if isOffMainThread { return .wrongThread }
    lock.lock()
    defer { lock.unlock() }
    if attachedThread != 0 { return .busy }
    if isDrainedElsewhereLocked { return .wrongThread }
    attachment = Attachment(loop: loop, data: data)
    attachedThread = inturn_system_thread()
    Engine.current.pointee.waits.attachments.wrappingAdd(1, ordering: .relaxed)
    return .ok
  }

  /// The data of an attached loop of this kind; `.invalidArgument` when there is none.
  package func attachedData(loop: Text) -> (Status, UnsafeMutableRawPointer?) {
    let attachment = lock.withLock { self.attachment }
    guard let attachment, attachment.loop == loop else { return (.invalidArgument, nil) }
    return (.ok, attachment.data)
  }

  /// Detaches the loop. May be called on any thread, as a loop may be closed elsewhere than it ran;
  /// refused while another thread drains.
  package func detach(loop: Text) -> Status {
    lock.lock()
    let old = attachment
    let isLoops = old?.loop == loop
    let isInUse = isDrainedElsewhereLocked
    if isLoops && !isInUse {
      attachment = nil
      attachedThread = 0
      Engine.current.pointee.waits.attachments.wrappingSubtract(1, ordering: .relaxed)
    }
    lock.unlockAfterReadingObject()
    // The loop's name is released here, without the lock.
    withExtendedLifetime(old) {}
    if !isLoops { return .invalidArgument }
    return isInUse ? .wrongThread : .ok
  }

  var isAttachedElsewhereLocked: Bool {
    attachedThread != 0 && attachedThread != inturn_system_thread()
  }

  /// Whether another thread drains it. The drains further up the caller's stack are its own.
  private var isDrainedElsewhereLocked: Bool {
    let own = Unmanaged<Executor>.passUnretained(self).toOpaque()
    var ownDrains: UInt32 = 0
    var frame = CallFrame.innermost
    while let current = frame {
      if current.pointee.executor?.toOpaque() == own { ownDrains += 1 }
      frame = current.pointee.outer
    }
    return drainersLocked > ownDrains
  }
}
