import CInturnSystem

extension UnsafeMutablePointer<Lane> {
  /// Its progress so far. Nil if nothing is pending or running.
  func progress() -> LaneProgress? {
    pointee.lock.lock()
    if isQuiet {
      pointee.lock.unlock()
      return nil
    }
    // Read under the lane's lock, so that the watchdog never holds the last reference to the executor
    // and has to destroy it.
    let progress = LaneProgress(
      generation: pointee.generation, mark: markLocked,
      taken: awaitsExecutorLocked ? awaitedExecutorLocked.taken : 0,
      limit: stallLimitLocked)
    pointee.lock.unlockAfterReadingObject()
    return progress
  }

  private var stallLimitLocked: StallLimit { pointee.extra?.pointee.settings.stall ?? .standard }

  /// A number that changes with each start, end and report of progress, and differs from lane to lane.
  private var markLocked: UInt64 {
    countBurstLocked()
    let attempt = firstRunningSlot?.loadWord().generation ?? 0
    // A burst counts running work as finished, until it leaves the work to its token.
    let running: UInt64 = pointee.machine.flags.contains(.bursting) ? 1 : 0
    let extra = pointee.extra
    return Mark()
      .adding(UInt64(UInt(bitPattern: self)))
      .adding(UInt64(pointee.generation) << 32 | UInt64(attempt))
      .adding(pointee.finished &- running).adding(extra?.pointee.ends.sum ?? 0)
      .adding(UInt64(pointee.machine.running) << 32 | UInt64(pointee.firstRunning))
      .adding(extra?.pointee.backlog.segmentsRun ?? 0).adding(reportsLocked).bits
  }

  /// Changes when running operations report progress. It looks at a limited number.
  private var reportsLocked: UInt64 {
    var (reports, left): (UInt64, Int) = (0, 64)
    forEachRunningLocked(while: left > 0) {
      left -= 1
      reports = reports << 1 &+ UInt64($0.pointee.reports)
    }
    return reports
  }

  /// Why the lane, or an operation to which the caller has a reference, is stalled. Nil if it may make
  /// progress. `passed`: running operations that the lane is named after only if it has no others.
  func standing(
    of slot: OperationSlot.Pointer?, at now: Int64, for asker: Standing.Asker,
    besides passed: [OperationSlot.Pointer]
  ) -> Standing? {
    pointee.lock.lock()
    defer { pointee.lock.unlockAfterReadingObject() }
    guard let slot else {
      if asker == .question && isQuiet { return nil }
      return standingLocked(at: now, for: asker, besides: passed)
        ?? (asker == .question ? queueLocked(.none, StallLink.nothing) : nil)
    }
    // After an operation has ended, its slot may belong to another lane.
    let word = slot.loadWord()
    guard slot.lane == self, !word.isOver else { return nil }
    if word.contains(.started) {
      let ofSegment =
        hasPendingSegmentLocked(slot)
        ? standingLocked(at: now, for: asker, besides: passed + [slot]) : nil
      guard var standing = ofSegment ?? runningLocked(slot) else { return freeLocked(slot, asker) }
      if ofSegment != nil || !standing.links[0].isOperation {
        standing.links.insert(linkLocked(.turn, of: slot), at: 0)
      }
      return standing
    }
    if slot.blockers > 0 { return blockedLocked(slot, at: now, for: asker) }
    guard var standing = standingLocked(at: now, for: asker, besides: passed) else {
      return freeLocked(slot, asker)
    }
    standing.links.insert(linkLocked(.turn, of: slot), at: 0)
    if standing.waiting > 0 { standing.waiting -= 1 }
    return standing
  }

  /// Whether what continues an operation of an actor waits for its turn. It looks at a limited number.
  private func hasPendingSegmentLocked(_ slot: OperationSlot.Pointer) -> Bool {
    if !pointee.machine.traits.contains(.segments) { return false }
    stopBurstLocked()
    var (isFound, left) = (false, 1000)
    _ = forEachPendingLocked { job in
      left -= 1
      if let other = job.slot, other.loadWord().contains(.segment) {
        isFound = other.segmentOperation == slot
      }
      return !isFound && left > 0
    }
    return isFound
  }

  private func freeLocked(
    _ slot: OperationSlot.Pointer, _ asker: Standing.Asker
  ) -> Standing? {
    asker == .question ? makeLocked(linkLocked(.none, of: slot, StallLink.nothing)) : nil
  }

  private func standingLocked(
    at now: Int64, for asker: Standing.Asker, besides passed: [OperationSlot.Pointer]
  ) -> Standing? {
    switch obstacleLocked {
    case .nothing: return nil
    case .suspended: return suspendedLocked(at: now)
    case .pace: return heldLocked(at: now, for: asker)
    case .executor: return executorLocked()
    case .offer: return queueLocked(.task, "the task of what comes next does not begin")
    case .callback: return callbackLocked()
    case .running(let inCall): return oldestLocked(inCall: inCall, besides: passed)
    case .blocked(let slot): return blockedLocked(slot, at: now, for: asker)
    }
  }

  // MARK: Links

  @inline(never)
  private func linkLocked(
    _ cause: StallLink.Cause, of slot: OperationSlot.Pointer?, at site: Site = .unknown,
    _ predicate: Text = ""
  ) -> StallLink {
    StallLink(
      cause: cause, queueLabel: label.map { Text(cString: $0) },
      operationLabel: slot?.label.map { Text(cString: $0) }, isOperation: slot != nil,
      site: slot.map(siteLocked) ?? site, invertedToken: ~(slot?.startedToken ?? 0),
      traceKey: traceKey, thread: callerLocked(of: slot, cause), predicate: predicate)
  }

  /// On which thread the operation's work is being called.
  private func callerLocked(of slot: OperationSlot.Pointer?, _ cause: StallLink.Cause) -> UInt64 {
    guard let slot, cause == .call, !slot.loadWord().contains(.claimed) else { return 0 }
    return slot.pointee.caller
  }

  @inline(never)
  private func makeLocked(_ link: StallLink, _ patience: Standing.Patience = .none) -> Standing {
    var standing = Standing(link)
    standing.waiting = waitingCountLocked
    standing.mark = markLocked
    standing.key = standing.mark
    standing.limit = stallLimitLocked
    switch patience {
    case .none: break
    case .unawaited: if !isAwaitedLocked { standing.patience = .unawaited }
    case .shown: if !isQueueAwaitedLocked { standing.patience = .shown }
    }
    return standing
  }

  @inline(never)
  private func queueLocked(
    _ cause: StallLink.Cause, at site: Site = .unknown, _ predicate: Text,
    _ patience: Standing.Patience = .none
  ) -> Standing {
    makeLocked(linkLocked(cause, of: nil, at: site, predicate), patience)
  }

  /// Whether somebody waits until nothing is left in the lane, as far as the library knows.
  private var isQueueAwaitedLocked: Bool {
    pointee.machine.flags.contains(.waitedFor) || executor.isAwaited
  }

  /// The same, or for any work in it; see `isAwaitedLocked`.
  var isAwaited: Bool { pointee.lock.withLock { isAwaitedLocked } }

  /// The same, or for any work in it. It looks at a limited number.
  private var isAwaitedLocked: Bool {
    if isQueueAwaitedLocked { return true }
    // Pending jobs then stay pending, and what they refer to stays alive.
    stopBurstLocked()
    var (isAwaited, left) = (false, 4000)
    forEachRunningLocked(while: !isAwaited && left > 0) {
      left -= 1
      isAwaited = self.isAwaited(running: $0)
    }
    if isAwaited || left == 0 { return isAwaited }
    _ = forEachPendingLocked {
      left -= 1
      isAwaited = self.isAwaited($0)
      return !isAwaited && left > 0
    }
    return isAwaited
  }

  /// Whether somebody waits for an operation, or its batch.
  @inline(never)
  private func isAwaited(_ job: Job) -> Bool {
    let slot = job.slot
    // A tombstone's context is gone, and a segment's is the caller's own.
    if let word = slot?.loadWord(), word.contains(.claimed) || word.contains(.segment) {
      return false
    }
    let (destroy, context) =
      (slot?.pointee.destroy ?? job.destroy, slot?.pointee.context ?? job.context)
    return slot?.loadWord().isAwaited == true || Batch.isAwaited(destroy, context)
      || QueuedCall.isAwaited(destroy, context)
  }

  private func isAwaited(running slot: OperationSlot.Pointer) -> Bool {
    let word = slot.loadWord()
    // A drainer changes its gate without the lock until it leaves the gate to an operation that has
    // not ended. Until then, what the gate's job refers to may be gone.
    let isKept = word.contains(.observed) || (word.contains(.returned) && !word.contains(.ended))
    return isKept ? isAwaited(Job(slot: slot)) : word.isAwaited
  }

  /// Operations that somebody waits for and that have not moved since this moment, whatever the rest
  /// of the lane has done: they run, or others keep them back. Each has a reference. It looks at a
  /// limited number.
  func awaited(since moment: Int64) -> [OperationSlot.Pointer] {
    var found: [OperationSlot.Pointer] = []
    var left = 64
    pointee.lock.lock()
    defer { pointee.lock.unlockAfterReadingObject() }
    // What a burst calls has no times, and is not looked at: its drainer may change it just now.
    func look(_ slot: OperationSlot.Pointer, _ begin: Int64?, _ isAwaited: () -> Bool) {
      left -= 1
      guard let begin, begin <= moment, isAwaited() else { return }
      slot.addReference()
      found.append(slot)
    }
    forEachRunningLocked(while: left > 0 && found.count < 4) {
      let slot = $0
      look(slot, startedAt(slot)) { isAwaited(running: slot) }
    }
    _ = order?.forEachBlocked {
      let slot = $0
      look(slot, enqueuedAt(slot)) { isAwaited(Job(slot: slot)) }
      return left > 0 && found.count < 4
    }
    return found
  }

  /// Nil if it was not noted, or on a manual clock.
  private func startedAt(_ slot: OperationSlot.Pointer) -> Int64? {
    slot.loadWord().contains(.ownClock) || slot.pointee.startedAt == 0
      ? nil : slot.pointee.startedAt
  }

  private func enqueuedAt(_ slot: OperationSlot.Pointer) -> Int64? {
    slot.loadWord().contains(.ownClock) || slot.pointee.enqueuedAt == 0
      ? nil : slot.pointee.enqueuedAt
  }

  // MARK: Causes

  private func suspendedLocked(at now: Int64) -> Standing {
    let extra = needExtra()
    let (reason, site) = extra.pointee.suspensions.first
    let cause = Report.quoted(reason.map { Text(cString: $0) }, after: " for ")
    let time = Stall.text(now - extra.pointee.suspensions.since)
    let text = "it is suspended" + cause + site.inBrackets + ", and has been for " + time
    return queueLocked(.suspended, at: site, text, .unawaited)
  }

  private func heldLocked(at now: Int64, for asker: Standing.Asker) -> Standing? {
    guard let pace = pointee.extra?.pointee.pace else { return nil }
    switch causeOfPaceLocked {
    case .view:
      let text: Text = pace.pointee.hasAppeared ? "its view is hidden" : "its view has not appeared"
      return queueLocked(.view, text, .unawaited)
    case .clock: return queueLocked(.clock, Self.clockPredicate("start"), .unawaited)
    default:
      // It continues by itself, but a caller who waits for it may want to know.
      guard asker != .watchdog || isAwaitedLocked, let moment = pace.pointee.nextStart
      else { return nil }
      let rest = max(0, moment - now)
      var standing = queueLocked(.delay, "it starts nothing for another " + Stall.text(rest))
      standing.rest = rest
      return standing
    }
  }

  @inline(never)
  private static func clockPredicate(_ what: Text) -> Text {
    "its manual clock has not reached its next " + what
  }

  private func blockedLocked(
    _ slot: OperationSlot.Pointer, at now: Int64, for asker: Standing.Asker
  ) -> Standing? {
    let cause = causeLocked(ofPending: slot)
    var standing: Standing
    if cause == .clock || cause == .delay {
      // Its timer lets it continue, but a caller who waits for it may want to know.
      guard asker != .watchdog || cause == .clock || isAwaitedLocked else { return nil }
      let rest = max(0, slot.plan.unsafelyUnwrapped.pointee.retryAt - now)
      let text =
        cause == .clock
        ? Self.clockPredicate("attempt") : "its next attempt begins in " + Stall.text(rest)
      standing = makeLocked(linkLocked(cause, of: slot, text), .unawaited)
      if cause == .delay { standing.rest = rest }
    } else {
      standing = makeLocked(linkLocked(cause, of: slot))
      slot.addReference()
      standing.blocked = slot
      standing.since = enqueuedAt(slot)
    }
    // Without the one that the link names.
    if standing.waiting > 0 { standing.waiting -= 1 }
    return standing
  }

  /// Why the end of an operation is not told yet to those of its batch that wait for it.
  func undelivered() -> Standing? {
    pointee.lock.lock()
    defer { pointee.lock.unlockAfterReadingObject() }
    return executorLocked() ?? (pointee.machine.active > 0 ? callbackLocked() : nil)
  }

  @inline(never)
  private func callbackLocked() -> Standing {
    queueLocked(.callback, Self.callbackPredicate, pointee.pending == 0 ? .unawaited : .none)
  }

  private static var callbackPredicate: Text { "a callback of it has not returned" }

  /// Nil if it does not wait for its executor.
  private func executorLocked() -> Standing? {
    if !awaitsExecutorLocked { return nil }
    let executor = awaitedExecutorLocked
    var standing = queueLocked(causeOfExecutorLocked, executor.standing)
    let address = UInt(bitPattern: Unmanaged.passUnretained(executor).toOpaque())
    standing.key = Mark().adding(UInt64(address)).adding(UInt64(executor.taken)).bits
    return standing
  }

  /// The operation that has been running longest: of all, or only of those whose call has not returned.
  /// It looks at a limited number.
  @inline(never)
  private func oldestLocked(
    inCall: Bool, besides passed: [OperationSlot.Pointer]
  ) -> Standing? {
    var (oldest, oldestOfPassed): (OperationSlot.Pointer?, OperationSlot.Pointer?)
    var left = 1000
    forEachRunningLocked(while: left > 0) { slot in
      left -= 1
      let word = slot.loadWord()
      if word.isOver || (inCall && word.contains(.returned)) { return }
      if passed.contains(slot) { oldestOfPassed = slot } else { oldest = slot }
    }
    oldest = oldest ?? oldestOfPassed
    // The decision on another attempt may be under way.
    if let oldest, let standing = runningLocked(oldest) { return standing }
    if pointee.machine.active > 0 { return callbackLocked() }
    if pointee.firstRunning != 0 { return nil }
    return queueLocked(.call, "the body that its caller runs has not returned")
  }

  @inline(never)
  private func runningLocked(_ slot: OperationSlot.Pointer) -> Standing? {
    let word = slot.loadWord()
    // It blocks nothing, or is shown to a person, who takes longer than a program, whoever waits for
    // the answer. Of what waits in other queues, theirs say when it is told, unless this one has a
    // limit of its own.
    let blocksOthers = stallLimitLocked != .standard && slot.keepsOthersBack
    let isShown = pointee.machine.traits.contains(.view)
    let patience: Standing.Patience = pointee.pending == 0 && !blocksOthers ? .unawaited : .none
    func standing(_ cause: StallLink.Cause, _ predicate: Text) -> Standing {
      var standing = makeLocked(
        linkLocked(cause, of: slot, predicate), isShown ? .shown : patience)
      slot.addReference()
      standing.running = slot
      standing.startedAt = startedAt(slot)
      // One that reports progress is seen to move.
      if slot.pointee.reports == 0 { standing.since = standing.startedAt }
      // Whatever else its lane does.
      standing.key =
        Mark().adding(UInt64(UInt(bitPattern: slot)))
        .adding(UInt64(word.generation)).bits
      return standing
    }
    let cause = causeLocked(ofRunning: word)
    switch cause {
    case .place:
      return standing(cause, "it was cut off, and keeps its place until its token is finished")
    case .task: return standing(cause, "its task has not ended")
    case .token:
      return standing(cause, "its call has returned, its token has not been finished")
    case .call:
      // Work may end its operation and keep running; and a burst destroys what was its context.
      return standing(
        cause,
        word.contains(.claimed)
          ? "it has ended, its call or the destroy callback of its context has not returned"
          : "its call has not returned")
    default:
      if let standing = executorLocked() { return standing }
      // The decision on another attempt is under way.
      let isAsked = word.contains(.restarting) && slot.pointee.flags.contains(.inDelivery)
      if !isAsked { return nil }
      return makeLocked(
        linkLocked(.callback, of: slot, Self.callbackPredicate), isShown ? .unawaited : patience)
    }
  }
}

extension OperationSlot.Pointer {
  /// Whether others come after it, or wait for one of its names. Its lane is locked.
  fileprivate var keepsOthersBack: Bool {
    if pointee.details?.pointee.firstEdge != nil { return true }
    return plan?.pointee.names.map(Engine.current.pointee.names.isAwaited) ?? false
  }

  /// The bits of the token that the present attempt's work was called with; 0 before that.
  fileprivate var startedToken: UInt64 {
    let word = loadWord()
    if !word.contains(.started) { return 0 }
    return Handle(.token, index: pointee.index, generation: word.generation).bits
  }
}
