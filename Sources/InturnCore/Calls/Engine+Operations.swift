import CInturnSystem

/// Calls about operations, by handle or token.
extension Engine {
  /// Calls `body` with the slot that a handle names, which cannot be freed meanwhile.
  static func withSlot(
    operation: Handle, _ body: (OperationSlot.Pointer) -> Status
  ) -> Status {
    withSlot(OperationSlot.Pointer.find(operation: operation), body)
  }

  static func withSlot(
    token: Handle, _ body: (OperationSlot.Pointer) -> Status
  ) -> Status {
    withSlot(OperationSlot.Pointer.find(token: token), body)
  }

  private static func withSlot(
    _ found: (Status, OperationSlot.Pointer?), _ body: (OperationSlot.Pointer) -> Status
  ) -> Status {
    guard let slot = found.1 else { return found.0 }
    defer { slot.dropReference() }
    return body(slot)
  }

  /// What `body` finds in an operation's slot.
  private static func read<Result>(
    _ operation: Handle, or none: Result, _ body: (OperationSlot.Pointer) -> Result
  ) -> (Status, Result) {
    let (status, slot) = OperationSlot.Pointer.find(operation: operation)
    guard let slot else { return (status, none) }
    defer { slot.dropReference() }
    return (.ok, body(slot))
  }

  /// How many operations with handles can exist at a time.
  package static var maximumOperations: Int { Int(Handle.maximumIndex) }

  package static func state(of operation: Handle) -> (Status, OperationState) {
    read(operation, or: .pending) { $0.loadWord().state }
  }

  /// Whether it waits for another operation's end, which will be its own, or has ended in that way.
  package static func hasJoined(_ operation: Handle) -> Bool {
    read(operation, or: false) { slot in
      slot.lane.pointee.lock.withLock {
        slot.pointee.cause == .joined || slot.groups?.pointee.isFollowing == true
      }
    }.1
  }

  package static func cancel(_ operation: Handle) -> Status {
    withSlot(operation: operation) { $0.lane.cancel($0) }
  }

  package static func wait(
    for operation: Handle, timeoutNanoseconds: Int64
  ) -> (Status, OperationEnd?) {
    var end: OperationEnd?
    let status = withSlot(operation: operation) {
      let status = $0.waitForEnd(timeoutNanoseconds: timeoutNanoseconds)
      if status == .ok { end = $0.makeEnd() }
      return status
    }
    return (status, end)
  }

  /// What keeps an operation from ending, as a report about something stuck.
  package static func reason(for operation: Handle) -> (Status, Report?) {
    guard hasMemory else { return (.noMemory, nil) }
    return reason(OperationSlot.Pointer.find(operation: operation))
  }

  /// The same for an operation or a queue by its id in a snapshot.
  static func reason(forTold id: Handle) -> (Status, Report?) {
    guard hasMemory else { return (.noMemory, nil) }
    if let queue = lane(id) {
      // It may be another one by the time that it is asked.
      let status = withLocked(id) { lane, _ in lane.isQuiet ? .alreadyFinished : .ok }
      if status != .ok { return (status, nil) }
      let stall = Stall(of: queue, at: inturn_system_now())
      return (stall == nil ? .alreadyFinished : .ok, stall?.answer)
    }
    return reason(OperationSlot.Pointer.find(told: id))
  }

  @inline(never)
  private static func reason(
    _ found: (Status, OperationSlot.Pointer?)
  ) -> (Status, Report?) {
    var report: Report?
    let status = withSlot(found) { slot in
      if slot.loadWord().isEnded { return .alreadyFinished }
      report = Stall(of: slot, at: inturn_system_now())?.answer
      return report == nil ? .alreadyFinished : .ok
    }
    return (status, report)
  }

  package static func progress(of operation: Handle) -> (Status, Progress) {
    read(operation, or: Progress()) { slot in
      slot.lane.pointee.lock.withLock { slot.pointee.details?.pointee.progress ?? Progress() }
    }
  }

  package static func release(_ operation: Handle) -> Status {
    if OperationSlot.Pointer.releaseAtOnce(operation) { return .ok }
    return withSlot(operation: operation) {
      if $0.change({ $0.givingHandleUp() }) == nil { return operation.refusal(for: .operation) }
      $0.dropReference()
      return .ok
    }
  }

  // MARK: Tokens

  @inline(__always)
  package static func end(_ token: Handle, as outcome: Outcome) -> Status {
    OperationSlot.Pointer.end(token, as: outcome)
  }

  /// The same with a cause and a result, which the caller destroys when this is refused, and for
  /// callers that must act before the queue goes on: `announce` is called once, with the status
  /// that this returns.
  package static func end(
    _ token: Handle, as outcome: Outcome, cause: Cause, result: UnsafeMutableRawPointer?,
    destroy: RawDestroy?, announce: (Status) -> Void
  ) -> Status {
    guard let slot = slot(of: token) else {
      announce(token.refusal(for: .token))
      return token.refusal(for: .token)
    }
    let payload = OperationSlot.Pointer.Payload(
      cause: cause, result: result, resultDestroy: destroy)
    return withoutActuallyEscaping(announce) {
      slot.end(token, as: outcome, payload: payload, announce: $0)
    }
  }

  package static func fail(_ token: Handle, code: Int32) -> Status {
    end(token, as: .failed, code: code, result: nil, destroy: nil)
  }

  /// Ends an operation with a result, which the caller destroys when this is refused. Otherwise it is
  /// destroyed with the operation or, if another attempt follows, when that has ended.
  package static func end(
    _ token: Handle, as outcome: Outcome, code: Int32 = 0, result: UnsafeMutableRawPointer?,
    destroy: RawDestroy?
  ) -> Status {
    guard let slot = slot(of: token) else { return token.refusal(for: .token) }
    return slot.end(
      token, as: outcome, payload: .init(code: code, result: result, resultDestroy: destroy))
  }

  /// Ends an operation whose token was lost, and reports it with the place that enqueued it.
  package static func abandon(
    _ token: Handle, enqueuedAt place: UnsafePointer<CChar>? = nil
  ) -> Status {
    var report: Report?
    let status = withSlot(token: token) { slot in
      if let lane = slot.lockLane(ofAttempt: token.generation) {
        report = .lostToken(
          operation: slot.label, queue: lane.label, at: lane.siteLocked(of: slot),
          enqueuedAt: place)
        lane.pointee.lock.unlock()
      }
      return end(token, as: .abandoned)
    }
    if status == .ok { report?.send() }
    return status
  }

  /// Notes that the token is a task's: its user has none.
  package static func setTask(_ token: Handle) {
    _ = withSlot(token: token) { $0.note(.isTask, attempt: token.generation) }
  }

  package static func setProgress(_ progress: Progress, of token: Handle) -> Status {
    guard hasMemory else { return .noMemory }
    return withSlot(token: token) { slot in
      guard let lane = slot.lockLane(ofAttempt: token.generation) else { return .alreadyFinished }
      slot.needDetailsLocked().pointee.progress = progress
      slot.pointee.reports = slot.pointee.reports % .max + 1
      let staged = slot.stageStatesLocked()
      lane.pointee.lock.unlockAfterReadingObject()
      staged.deliver()
      return .ok
    }
  }

  /// Ends an attempt of an operation that gives way; it is started again afterwards.
  package static func yield(_ token: Handle) -> Status {
    withSlot(token: token) { $0.yield(token) }
  }

  private static func slot(of token: Handle) -> OperationSlot.Pointer? {
    token.isOf(.token) ? current.pointee.operations.pointer(at: token.index) : nil
  }

  package static func isCancelled(_ token: Handle) -> (Status, Bool) {
    guard let slot = slot(of: token) else { return (token.refusal(for: .token), false) }
    let word = slot.loadWord()
    if word.generation == token.generation && word.contains(.started) {
      // While a cut-off call goes on, it is told to stop. Afterwards the operation is over for its
      // token, too.
      let isInCutOffCall = word.contains(.cutOff) && !word.contains(.returned)
      let isOver = word.contains(.claimed) && !isInCutOffCall
      return (
        isOver ? .alreadyFinished : .ok, word.contains(.cancelRequested) || isInCutOffCall
      )
    }
    let isPast = token.generation != 0 && word.generation > token.generation
    return (isPast ? .alreadyFinished : token.refusal(for: .token), false)
  }

  /// Sets the handler of a notice: that the operation was cancelled, or that an urgent one wants its
  /// place. The caller destroys the new context when this is refused.
  package static func setHandler(
    of notice: Notice, _ token: Handle, _ handler: RawWork?, context: UnsafeMutableRawPointer?,
    destroy: RawDestroy?
  ) -> Status {
    guard hasMemory else { return .noMemory }
    let handler = NoticeHandler(function: handler, context: context, destroy: destroy)
    var old = NoticeHandler()
    let status = withSlot(token: token) {
      let result = $0.setHandler(handler, for: notice, generation: token.generation)
      old = result.old
      return result.status
    }
    old.destroyContext()
    return status
  }

  package static func resume(
    _ token: Handle, work: RawWork?, context: UnsafeMutableRawPointer?, destroy: RawDestroy?
  ) -> Status {
    guard let work = Work(work, at: .unknown) else { return .invalidArgument }
    guard hasMemory else { return .noMemory }
    return withSlot(token: token) {
      $0.lane.resume(
        $0, generation: token.generation, work: work, context: context, destroy: destroy)
    }
  }
}
