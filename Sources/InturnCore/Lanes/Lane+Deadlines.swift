/// Deadlines, stall warnings and grace times.
extension UnsafeMutablePointer<Lane> {
  @_optimize(speed)
  func armForWaitLocked(_ slot: OperationSlot.Pointer) {
    guard let details = slot.pointee.details else { return }
    details.setDeadlines(
      from: slot.pointee.enqueuedAt, limit: details.pointee.maxWait)
    armLocked(slot, details)
  }

  @_optimize(speed)
  func armForRunLocked(_ slot: OperationSlot.Pointer) {
    guard let details = slot.pointee.details, !details.pointee.isLean else { return }
    details.setDeadlines(from: slot.pointee.startedAt, limit: details.pointee.maxRun)
    armLocked(slot, details)
  }

  /// The operation was asked to end: its grace time begins.
  func armForGraceLocked(_ slot: OperationSlot.Pointer) {
    guard let details = slot.pointee.details, details.pointee.grace > 0 else { return }
    details.pointee.graceAt = clock.moment(after: details.pointee.grace)
    armLocked(slot, details)
  }

  /// Arms the timer for whichever moment comes first. `settleLocked` disarms it, even after the
  /// queue is destroyed. `generation` is the one that the operation has when the timer fires; nil
  /// for its present one.
  @_optimize(speed)
  func armLocked(
    _ slot: OperationSlot.Pointer, _ details: UnsafeMutablePointer<OperationDetails>,
    generation: UInt32? = nil
  ) {
    // Two at a time: a `min` of more arguments allocates an array.
    let next = Swift.min(
      Swift.min(details.pointee.stallAt, details.pointee.deadlineAt),
      Swift.min(details.pointee.graceAt, details.pointee.plan?.pointee.retryAt ?? Int64.max))
    if next == Int64.max { return disarmLocked(details) }
    let timer = details.pointee.timer ?? .make()
    details.pointee.timer = timer
    details.pointee.isTimerArmed = true
    let generation = generation ?? slot.loadWord().generation
    withClockLocked {
      $0.arm(timer, at: next, for: .operation(slot, generation: generation, of: self))
    }
  }

  @_optimize(speed)
  func disarmLocked(_ details: UnsafeMutablePointer<OperationDetails>) {
    guard details.pointee.isTimerArmed, let timer = details.pointee.timer else { return }
    details.pointee.isTimerArmed = false
    withClockLocked { $0.disarm(timer) }
  }

  /// An operation's timer has fired. By now the operation may have ended, and its slot, even the
  /// lane, may belong to others.
  func timerFired(of slot: OperationSlot.Pointer, generation: UInt32) {
    pointee.lock.lock()
    let word = slot.loadWord()
    // The slot keeps its operation while the lock is held and the end is not settled.
    guard word.generation == generation, !word.contains(.ended), slot.lane == self,
      let details = slot.pointee.details
    else {
      pointee.lock.unlock()
      return
    }
    let now = nowLocked
    var outbox = Outbox()
    var report: Report?
    if let plan = details.pointee.plan, plan.pointee.retryAt <= now {
      plan.pointee.retryAt = Int64.max
      unblockLocked(slot, plan, &outbox)
    } else if details.pointee.graceAt <= now {
      details.pointee.graceAt = Int64.max
      cutOffLocked(slot, .cancelled, .grace, &outbox)
    } else if details.pointee.deadlineAt <= now {
      details.pointee.deadlineAt = Int64.max
      let isRunning = word.contains(.started)
      cutOffLocked(
        slot, .timedOut, isRunning ? .maxRun : .maxWait,
        holdingPlace: isRunning && !details.pointee.freesPlaceAtMaxRun, &outbox)
    } else if details.pointee.stallAt <= now {
      details.pointee.stallAt = Int64.max
      report = .stall(
        operation: slot.label, queue: label, at: slot.pointee.work.site,
        isRunning: word.contains(.started), nanoseconds: details.pointee.stall)
    }
    if !slot.loadWord().contains(.claimed) { armLocked(slot, details) }
    unlock(&outbox)
    report?.send()
  }

  /// Ends an operation from outside, unless its end is decided already.
  func cutOffLocked(
    _ slot: OperationSlot.Pointer, _ outcome: Outcome, _ cause: Cause, holdingPlace: Bool = false,
    payload: OperationSlot.Pointer.Payload = .init(), _ outbox: inout Outbox
  ) {
    let wasPending = !slot.loadWord().contains(.started)
    if slot.cutOffLocked(
      outcome, cause: cause, holdingPlace: holdingPlace, payload: payload, &outbox) == nil
    {
      return
    }
    if wasPending { removePendingLocked(slot) } else { noticeLocked(slot, &outbox) }
    settleLocked(slot, endedInsideCall: false, &outbox)
  }
}

extension UnsafeMutablePointer<OperationDetails> {
  fileprivate func setDeadlines(from moment: Int64, limit: Int64) {
    func after(_ nanoseconds: Int64) -> Int64 {
      if nanoseconds == 0 { return Int64.max }
      let (sum, overflow) = moment.addingReportingOverflow(nanoseconds)
      return overflow ? Int64.max : sum
    }
    pointee.stallAt = after(pointee.stall)
    pointee.deadlineAt = after(limit)
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  var label: UnsafePointer<CChar>? {
    pointee.details?.pointee.label.map { UnsafePointer($0) }
  }
}
