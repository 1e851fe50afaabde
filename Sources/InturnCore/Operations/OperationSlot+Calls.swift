import Synchronization

/// What holders of a handle or a token ask of an operation.
extension UnsafeMutablePointer<OperationSlot> {
  /// Waits until the operation has ended, and its end is in its place among those that are to be
  /// delivered. The caller holds a reference.
  func waitForEnd(timeoutNanoseconds: Int64) -> Status {
    let status = waitForEndedFlag(timeoutNanoseconds: timeoutNanoseconds)
    var backoff = Backoff()
    // Only for the moment between the flag and the lock of who has set it.
    while status == .ok && loadWord().contains(.returned) && !isCounted { backoff.pause() }
    return status
  }

  private var isCounted: Bool {
    let lane = self.lane
    lane.pointee.lock.lock()
    defer { lane.pointee.lock.unlock() }
    return pointee.flags.contains(.counted)
  }

  private func waitForEndedFlag(timeoutNanoseconds: Int64) -> Status {
    if loadWord().contains(.ended) { return .ok }
    if timeoutNanoseconds == 0 { return .timedOut }
    guard let entry = WaitGraph.enter(.operation(self)) else {
      // It may have ended meanwhile, and its queue be gone.
      return loadWord().contains(.ended) ? .ok : .deadlock
    }
    defer { WaitGraph.leave(entry) }
    let limit = WaitLimit(timeoutNanoseconds: timeoutNanoseconds)
    var backoff = Backoff()
    while true {
      // Before the look at the word, so that no wake-up is missed after it.
      let seen = wakeups.pointee.load(ordering: .acquiring)
      if loadWord().contains(.ended) { return .ok }
      if backoff.isShort {
        backoff.pause()
        continue
      }
      guard let rest = limit.remaining else { return .timedOut }
      if change({ $0.contains(.ended) ? nil : $0.adding(.waitedFor) }) == nil { return .ok }
      wakeups.wait(while: seen, timeoutNanoseconds: rest)
    }
  }

  /// Gives the handle up. False when that has been done.
  func releaseHandle() -> Bool {
    if change({ $0.contains(.handleHeld) ? $0.removing(.handleHeld) : nil }) == nil { return false }
    dropReference()
    return true
  }

  // MARK: Cancel handlers

  /// Sets the handler of a running operation, or none. The caller holds a reference. Gives back
  /// what is to be destroyed: the context of the handler that was replaced.
  func setCancelHandler(
    _ handler: RawWork?, context: UnsafeMutableRawPointer?, destroy: RawDestroy?,
    generation: UInt32
  ) -> (status: Status, oldContext: UnsafeMutableRawPointer?, oldDestroy: RawDestroy?) {
    let lane = self.lane
    lane.pointee.lock.lock()
    // A gate goes from one operation to the next without the lock, unless it has `attention`.
    let word = set(.attention)
    guard word.generation == generation, !word.contains(.claimed), self.lane == lane else {
      lane.pointee.lock.unlock()
      return (.alreadyFinished, nil, nil)
    }
    if pointee.details == nil {
      pointee.details = .allocate(capacity: 1)
      pointee.details!.initialize(to: OperationDetails())
    }
    let details = pointee.details!
    let old = (details.pointee.cancelContext, details.pointee.cancelDestroy)
    details.pointee.cancelHandler = handler
    details.pointee.cancelContext = context
    details.pointee.cancelDestroy = destroy
    if word.contains(.cancelRequested) { lane.noticeCancelLocked(self) }
    lane.unlockAndAskForDrainer()
    return (.ok, old.0, old.1)
  }

  /// Takes the cancel handler out, so that it is called and destroyed once.
  func takeCancelHandlerLocked()
    -> (function: RawWork?, context: UnsafeMutableRawPointer?, destroy: RawDestroy?)
  {
    guard let details = pointee.details else { return (nil, nil, nil) }
    defer {
      details.pointee.cancelHandler = nil
      details.pointee.cancelContext = nil
      details.pointee.cancelDestroy = nil
    }
    return (
      details.pointee.cancelHandler, details.pointee.cancelContext, details.pointee.cancelDestroy
    )
  }

  /// Calls the cancel handler: an executor's turn.
  func deliverCancelNotice() {
    let lane = self.lane
    lane.pointee.lock.lock()
    // The queue may be gone, and its lane be another one's.
    let isCurrent =
      lane.pointee.generation == pointee.laneGeneration
      && !lane.pointee.machine.flags.contains(.destroyed)
    let word = loadWord()
    let isEndedByToken = word.contains(.claimed) && !word.contains(.cutOff)
    guard isCurrent && !isEndedByToken, pointee.details?.pointee.cancelHandler != nil else {
      lane.pointee.lock.unlock()
      dropReference()
      return
    }
    let handler = takeCancelHandlerLocked()
    pointee.details!.pointee.isNoticed = false
    let token = self.handle(.token)
    lane.needExtra().pointee.outside += 1
    lane.pointee.lock.unlock()

    var frame = CallFrame(lane: lane)
    let process = ProcessState.current
    withUnsafeMutablePointer(to: &frame) { frame in
      frame.push()
      handler.function!(handler.context, token.bits)
      if let destroy = handler.destroy { destroy(handler.context) }
      frame.pop()
    }
    if ProcessState.current != process { return }
    dropReference()
    lane.pointee.lock.lock()
    lane.pointee.extra!.pointee.outside -= 1
    lane.leaveLocked()
  }
}

extension UnsafeMutablePointer<Lane> {
  /// Has the cancel handler called, if there is one: once the lock is given up. The lane is locked,
  /// and the caller ends with `unlockAndAskForDrainer`.
  func noticeCancelLocked(_ slot: OperationSlot.Pointer) {
    guard let details = slot.pointee.details, details.pointee.cancelHandler != nil,
      !details.pointee.isNoticed
    else { return }
    details.pointee.isNoticed = true
    slot.addReference()
    let extra = needExtra()
    details.pointee.nextNotice = extra.pointee.firstNotice
    extra.pointee.firstNotice = slot
    pointee.machine.flags.insert(.hasNotices)
  }
}
