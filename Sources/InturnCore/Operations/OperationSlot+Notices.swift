import Synchronization

/// A handler that running work has set, until it is called or replaced.
struct NoticeHandler {
  var function: RawWork?
  var context: UnsafeMutableRawPointer?
  var destroy: RawDestroy?

  func destroyContext() {
    if let destroy { destroy(context) }
  }
}

/// Notices to running work: that it should end, or that an urgent operation wants its place.
package enum Notice { case cancel, preempt }

// Of the pointer, as others read other fields without the lock.
extension UnsafeMutablePointer<OperationDetails> {
  fileprivate subscript(notice: Notice) -> NoticeHandler {
    get { notice == .cancel ? pointee.onCancel : pointee.onPreempt }
    nonmutating set {
      if notice == .cancel { pointee.onCancel = newValue } else { pointee.onPreempt = newValue }
    }
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  /// Sets or removes a handler of a running operation. The caller holds a reference. Returns the
  /// previous handler, whose context has to be destroyed.
  func setHandler(
    _ handler: NoticeHandler, for notice: Notice, generation: UInt32
  ) -> (status: Status, old: NoticeHandler) {
    guard let lane = lockLane(ofAttempt: generation) else {
      return (.alreadyFinished, NoticeHandler())
    }
    if notice == .preempt && !lane.pointee.machine.traits.contains(.urgency) {
      lane.pointee.lock.unlock()
      return (.wrongKind, NoticeHandler())
    }
    let details = needDetailsLocked()
    let old = details[notice]
    details[notice] = handler
    var outbox = Outbox()
    lane.noticeLocked(self, &outbox)
    lane.unlock(&outbox)
    return (.ok, old)
  }

  /// Takes out a handler, so that it is called and destroyed only once.
  func takeHandlerLocked(for notice: Notice) -> NoticeHandler {
    guard let details = pointee.details else { return NoticeHandler() }
    defer { details[notice] = NoticeHandler() }
    return details[notice]
  }

  /// Whether the handler is to be called.
  func isDueLocked(_ notice: Notice) -> Bool {
    guard let details = pointee.details else { return false }
    switch notice {
    case .cancel:
      return details.pointee.onCancel.function != nil
        && !loadWord().flags.isDisjoint(with: [.cancelRequested, .cutOff])
    case .preempt:
      return details.pointee.onPreempt.function != nil && details.pointee.isPreempted
        && lane.hasUrgentLocked
    }
  }

  /// Calls one handler that is due, as an executor's turn. Any other one gets its own turn. False
  /// when none is due.
  func deliverNotice() -> Bool {
    let lane = self.lane
    lane.pointee.lock.lock()
    // The queue may be gone, and its lane be another queue's.
    let isCurrent =
      lane.pointee.generation == pointee.laneGeneration
      && !lane.pointee.machine.flags.contains(.destroyed)
    let word = loadWord()
    let isEndedByToken = word.contains(.claimed) && !word.contains(.cutOff)
    var due: Notice?
    if isCurrent && !isEndedByToken && word.contains(.started) {
      due = [Notice.cancel, .preempt].first { isDueLocked($0) }
    }
    guard let due else {
      var outbox = Outbox()
      if isCurrent {
        noticedLocked(&outbox)
        lane.unlock(&outbox)
      } else {
        lane.pointee.lock.unlock()
      }
      dropReference()
      return false
    }
    let handler = takeHandlerLocked(for: due)
    let token = self.handle(.token)
    lane.needExtra().pointee.quiet.outside += 1
    lane.pointee.lock.unlock()

    var frame = CallFrame(lane: lane)
    frame.isNotice = true
    let process = ProcessState.current
    frame.enter {
      handler.function!(handler.context, token.bits)
      if ProcessState.current == process { handler.destroyContext() }
    }
    if ProcessState.current != process { return true }
    lane.pointee.lock.lock()
    var outbox = Outbox()
    if !lane.pointee.machine.flags.contains(.destroyed) {
      noticedLocked(&outbox)
      lane.noticeLocked(self, &outbox)
    }
    lane.pointee.lock.unlock()
    dropReference()
    lane.pointee.lock.lock()
    lane.pointee.extra!.pointee.quiet.outside -= 1
    lane.leaveLocked(&outbox)
    return true
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  /// No notice is under way any more, for which the next attempt may have waited.
  private func noticedLocked(_ outbox: inout Outbox) {
    pointee.details!.pointee.isNoticed = false
    if loadWord().contains([.restarting, .cutOff]) {
      lane.settleLocked(self, endedInsideCall: false, &outbox)
    }
  }
}

extension UnsafeMutablePointer<Lane> {
  /// Submits the handlers that are due, once the lock is released.
  func noticeLocked(_ slot: OperationSlot.Pointer, _ outbox: inout Outbox) {
    guard let details = slot.pointee.details, !details.pointee.isNoticed,
      slot.isDueLocked(.cancel) || slot.isDueLocked(.preempt)
    else { return }
    details.pointee.isNoticed = true
    slot.addReference()
    outbox.addNotice(of: slot, details)
  }

  /// Whether an urgent operation can start. Drops those before it that were cancelled, so that each
  /// is passed once.
  fileprivate var hasUrgentLocked: Bool {
    guard let order else { return false }
    while let slot = order.popDeadUrgent() {
      pointee.extra!.pointee.backlog.tombstones -= 1
      slot.dropReference()
    }
    return order.pointee.hasUrgent
  }

  /// Tells the running interaction if an urgent one could start in its place.
  func askToGiveWayLocked(_ outbox: inout Outbox) {
    guard pointee.firstRunning != 0, hasUrgentLocked,
      pointee.machine.flags.isDisjoint(with: [.suspended, .destroyed]),
      pointee.extra!.pointee.pace!.pointee.isVisible
    else { return }
    forEachRunningLocked { slot in
      if slot.plan?.pointee.isUrgent == true { return }
      slot.needDetailsLocked().pointee.isPreempted = true
      noticeLocked(slot, &outbox)
    }
  }
}
