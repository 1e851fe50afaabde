import CInturnSystem

/// The options of an operation that is enqueued; see `inturn_operation_options`.
package struct OperationOptions {
  package var label: UnsafePointer<CChar>?
  package var maxWait: Int64 = 0
  package var maxRun: Int64 = 0
  package var freesPlaceAtMaxRun = false
  package var stall: Int64 = 0
  package var grace: Int64 = 0
  package var endCallback = EndCallback()

  package init() {}
}

/// Adding work to a lane. A refused context is the caller's to destroy.
extension UnsafeMutablePointer<Lane> {
  /// Adds an operation without options or handle.
  @inline(__always)
  func enqueue(
    generation: UInt32, work: @escaping RawWork, context: UnsafeMutableRawPointer?,
    destroy: RawDestroy?
  ) -> Status {
    pointee.lock.lock()
    let refusal = admitLocked(generation)
    if refusal != .ok {
      pointee.lock.unlock()
      return refusal
    }
    if !appendLocked(Job(work: work, context: context, destroy: destroy)) {
      pointee.lock.unlock()
      return .noMemory
    }
    unlockAndAskForDrainer()
    return .ok
  }

  /// Adds an operation with options, or whose handle is asked for.
  func enqueue(
    generation: UInt32, options: OperationOptions?, work: @escaping RawWork,
    context: UnsafeMutableRawPointer?, destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle) {
    var details: UnsafeMutablePointer<OperationDetails>?
    if let options {
      details = .allocate(capacity: 1)
      details!.initialize(to: OperationDetails(options))
    }
    let (status, handle) = enqueueObserved(
      generation, details, work, context, destroy, wantsHandle)
    if status != .ok, let details {
      free(details.pointee.label)
      details.deinitialize(count: 1)
      details.deallocate()
    }
    return (status, handle)
  }

  private func enqueueObserved(
    _ generation: UInt32, _ details: UnsafeMutablePointer<OperationDetails>?,
    _ work: @escaping RawWork, _ context: UnsafeMutableRawPointer?, _ destroy: RawDestroy?,
    _ wantsHandle: Bool
  ) -> (Status, Handle) {
    // All that can be done before the lock is.
    guard let slot = OperationSlot.Pointer.take(for: self, generation, .observed) else {
      return (.noMemory, Handle(bits: 0))
    }
    // The engine's, the buffer's, the handle's.
    slot.pointee.references.store(wantsHandle ? 3 : 2, ordering: .relaxed)
    slot.pointee.work = work
    slot.pointee.context = context
    slot.pointee.destroy = destroy
    slot.pointee.details = details
    slot.pointee.enqueuedAt = inturn_system_now()
    let handle = slot.handle(.operation)
    pointee.lock.lock()
    var status = admitLocked(generation)
    if status == .ok && !appendLocked(Job(slot: slot)) { status = .noMemory }
    if status != .ok {
      pointee.lock.unlock()
      slot.pointee.destroy = nil
      slot.pointee.details = nil
      slot.pointee.references.store(1, ordering: .relaxed)
      slot.dropReference()
      return (status, Handle(bits: 0))
    }
    // Only now does a handle with these bits name an operation.
    if wantsHandle { _ = slot.set(.handleHeld) }
    if hasOwnClock {
      _ = slot.set(.ownClock)
      slot.pointee.enqueuedAt = clock.now
    }
    armForWaitLocked(slot)
    unlockAndAskForDrainer()
    return (.ok, handle)
  }

  /// Adds a segment of a running operation of an actor lane.
  func resume(
    _ slot: OperationSlot.Pointer, work: @escaping RawWork, context: UnsafeMutableRawPointer?,
    destroy: RawDestroy?
  ) -> Status {
    pointee.lock.lock()
    if slot.loadWord().contains(.claimed) {
      pointee.lock.unlock()
      return .alreadyFinished
    }
    if pointee.machine.kind != .actor {
      pointee.lock.unlock()
      return .wrongKind
    }
    guard let segment = OperationSlot.Pointer.take(for: self, pointee.generation, .segment) else {
      pointee.lock.unlock()
      return .noMemory
    }
    segment.pointee.work = work
    segment.pointee.context = context
    segment.pointee.destroy = destroy
    segment.segmentOperation = slot
    guard appendLocked(Job(slot: segment)) else {
      segment.pointee.destroy = nil
      segment.dropReference()
      pointee.lock.unlock()
      return .noMemory
    }
    slot.addReference()
    needExtra().pointee.segments += 1
    unlockAndAskForDrainer()
    return .ok
  }

  @inline(__always)
  private func admitLocked(_ generation: UInt32) -> Status {
    if pointee.generation != generation { return .stale }
    if pointee.machine.flags.contains(.closed) { return .closed }
    if pointee.pending == UInt32.max { return .noMemory }
    guard let extra = pointee.extra, extra.pointee.capacity != 0 else { return .ok }
    return waitingCountLocked >= extra.pointee.capacity ? .full : .ok
  }

  /// Operations that are pending just now, also during a batch.
  var waitingCountLocked: UInt64 {
    countBatchLocked()
    return UInt64(pointee.pending) - UInt64(pointee.extra?.pointee.segments ?? 0)
  }
}

extension OperationDetails {
  fileprivate init(_ options: OperationOptions) {
    label = options.label.map { strdup($0) }
    endCallback = options.endCallback
    maxWait = options.maxWait
    maxRun = options.maxRun
    freesPlaceAtMaxRun = options.freesPlaceAtMaxRun
    stall = options.stall
    grace = options.grace
  }
}
