import Synchronization

/// Operations that depend on others, and operations that share names.
extension UnsafeMutablePointer<Lane> {
  // MARK: Waiting

  /// Makes an accepted operation depend on those of its plan. Until that is done, the plan counts
  /// one blocker more than there are edges. Called without a lock; the caller holds a reference of
  /// the operation and of each earlier one.
  func link(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer,
    _ earlier: UnsafeBufferPointer<OperationSlot.Pointer>
  ) {
    var links = Links()
    for target in earlier {
      let lane = target.lane
      lane.pointee.lock.withLock { links.add(slot, plan, target) }
    }
    pointee.lock.lock()
    var outbox = Outbox()
    plan.pointee.linkedCount = earlier.count
    plan.pointee.blockers -= links.over
    // If it has ended, its queue may be gone, and the lane free or another queue's.
    if slot.loadWord().contains(.claimed) {
      pointee.lock.unlock()
      return
    }
    startOrCutOffLocked(slot, plan, isLost: links.isLost, &outbox)
    unlock(&outbox)
  }

  /// The same, when all earlier operations are on this lane.
  func linkLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer,
    _ earlier: UnsafeBufferPointer<OperationSlot.Pointer>, _ outbox: inout Outbox
  ) {
    var links = Links()
    for target in earlier { links.add(slot, plan, target) }
    plan.pointee.linkedCount = earlier.count
    plan.pointee.blockers -= links.over
    startOrCutOffLocked(slot, plan, isLost: links.isLost, &outbox)
  }

  /// Acts on the end of an earlier operation. `isLost`: that operation did not finish.
  private func startOrCutOffLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer, isLost: Bool,
    _ outbox: inout Outbox
  ) {
    if isLost && plan.pointee.needsFinished {
      cutOffLocked(slot, .cancelled, .dependency, &outbox)
    } else if plan.pointee.blockers == 0 {
      becameReadyLocked(slot, plan, &outbox)
    }
  }

  /// Sets up an operation's edges, one after the other.
  private struct Links {
    private var count = 0
    /// How many blockers to subtract: one for the setting up, and one for each earlier operation
    /// that has ended already.
    private(set) var over: UInt32 = 1
    /// Whether one of those did not finish.
    private(set) var isLost = false

    /// Adds an edge to an earlier operation, whose lane is locked, unless that operation has ended.
    mutating func add(
      _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer, _ earlier: OperationSlot.Pointer
    ) {
      let edge = plan.pointee.edges! + count
      count += 1
      edge.initialize(
        to: Edge(later: slot, earlier: earlier, earlierGeneration: earlier.firstGeneration))
      // Once it is counted, nobody looks at its edges any more.
      if earlier.pointee.flags.contains(.counted) {
        edge.pointee.earlier = nil
        over += 1
        isLost = isLost || earlier.loadWord().outcome != .finished
        return
      }
      slot.addReference()
      earlier.needDetailsLocked().append(edge)
    }
  }

  // MARK: Telling

  /// The operation has ended: its dependents are told once the lock is released.
  @_optimize(speed)
  func releaseEdgesLocked(_ slot: OperationSlot.Pointer, _ outbox: inout Outbox) {
    guard let details = slot.pointee.details, let first = details.pointee.firstEdge else { return }
    outbox.tell(first, to: details.pointee.lastEdge!, slot.loadWord().outcome)
    details.pointee.firstEdge = nil
    details.pointee.lastEdge = nil
  }

  /// After an end, tells the dependents at the head of the list that are on this lane, a portion at
  /// a time. Stops at one that ends in turn, as it may have dependents of its own. Does nothing
  /// while a destroyed queue is being swept.
  @inline(__always)
  func tellOwnLocked(_ outbox: inout Outbox) {
    if outbox.hasNews && !pointee.machine.flags.contains(.destroyed) {
      tellOwnSlowlyLocked(&outbox)
    }
  }

  @inline(never)
  private func tellOwnSlowlyLocked(_ outbox: inout Outbox) {
    for _ in 0..<Self.portion {
      guard let (edge, outcome) = outbox.firstToTell else { return }
      let next = edge.pointee.next
      if !tellLocked(edge, outcome, &outbox) { return }
      outbox.firstIsTold(next, outcome)
    }
  }

  /// Tells an operation on this lane that one it depends on has ended. Returns false, with nothing
  /// done, when the operation is on another lane or would end in turn.
  @inline(__always)
  private func tellLocked(
    _ edge: Edge.Pointer, _ outcome: Outcome, _ outbox: inout Outbox
  ) -> Bool {
    let later = edge.pointee.later
    guard later.lane == self, let plan = later.plan, !later.loadWord().contains(.claimed),
      !(plan.pointee.needsFinished && outcome != .finished)
    else { return false }
    if Recorder.isOn { traceReleasedLocked(edge) }
    edge.pointee.next = nil
    edge.pointee.earlier = nil
    unblockLocked(later, plan, &outbox)
    // Not the last reference: the operation is pending.
    later.pointee.references.wrappingSubtract(1, ordering: .relaxed)
    return true
  }

  /// How many operations are examined or told before the lock is released for others.
  static var portion: Int { 32 }

  /// The operation gives its names back, or no longer wants them.
  @_optimize(speed)
  func releaseNamesLocked(_ slot: OperationSlot.Pointer, _ outbox: inout Outbox) {
    guard let names = slot.plan?.pointee.names, names.pointee.isMade else { return }
    names.pointee.isMade = false
    for granted in Engine.current.pointee.names.release(names) {
      let edge = granted.plan!.pointee.names!.pointee.edge
      edge.initialize(to: Edge(later: granted))
      outbox.tell(edge, to: edge, .finished)
    }
  }

  /// Tells the operations at the head of a list that are on this lane, a portion at a time; `rest`
  /// is the remainder of the list. Returns false, with nothing done, when the first one has ended
  /// or would end in turn.
  func tellSome(
    _ first: Edge.Pointer, _ outcome: inout Outcome?, rest: inout Edge.Pointer?
  ) -> Bool {
    pointee.lock.lock()
    var outbox = Outbox()
    var count = 0
    var next: Edge.Pointer? = first
    while count < Self.portion, let edge = next {
      let after = edge.pointee.next
      let own = edge.pointee.outcome ?? outcome.unsafelyUnwrapped
      if !tellLocked(edge, own, &outbox) { break }
      outcome = own
      next = after
      count += 1
    }
    if count == 0 {
      pointee.lock.unlock()
      return false
    }
    rest = next
    unlock(&outbox)
    return true
  }

  /// Tells one operation, and returns what follows from that.
  func tell(
    _ slot: OperationSlot.Pointer, _ edge: Edge.Pointer, _ outcome: Outcome
  ) -> Followup {
    pointee.lock.lock()
    var outbox = Outbox()
    let plan = slot.plan!
    if Recorder.isOn && !slot.loadWord().contains(.claimed) { traceReleasedLocked(edge) }
    edge.pointee.next = nil
    edge.pointee.earlier = nil
    plan.pointee.blockers -= 1
    // If it has ended, its queue may be gone, and the lane free or another queue's.
    if slot.loadWord().contains(.claimed) {
      pointee.lock.unlock()
      return Followup()
    }
    startOrCutOffLocked(slot, plan, isLost: outcome != .finished, &outbox)
    let more = outbox.takeFollowup()
    unlock(&outbox)
    return more
  }

  // MARK: Starting

  /// Nothing blocks the pending operation any more.
  private func becameReadyLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer, _ outbox: inout Outbox
  ) {
    guard let order, slot.pointee.flags.contains(.isBlocked) else {
      return headMayGoOnLocked(slot)
    }
    pointee.machine.flags.remove(.headBlocked)
    order.unblock(slot)
    if plan.pointee.names?.pointee.isMade == true { plan.pointee.comesNext = true }
    if isSelective || plan.pointee.comesNext {
      _ = order.push(slot, isOwed: true)
    } else if slot.hasBegun {
      _ = appendBegunLocked(Job(slot: slot), isOwed: true)
    } else {
      _ = pointee.buffer.append(Job(slot: slot), isOwed: true)
    }
    if plan.pointee.isUrgent { askToGiveWayLocked(&outbox) }
  }

  /// A pending operation has one blocker less.
  func unblockLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer, _ outbox: inout Outbox
  ) {
    plan.pointee.blockers -= 1
    if plan.pointee.blockers == 0 { becameReadyLocked(slot, plan, &outbox) }
  }

  /// Whether the operation whose turn it is has to wait, and all others with it. A selective lane
  /// goes on with other operations, except that an interaction lane waits for the next attempt of
  /// one that has failed. (It does not wait for an operation's names: one behind it may hold them.)
  func isHeadBlockedLocked() -> Bool {
    if pointee.machine.traits.contains(.overtaking) { return false }
    if !isSelective { passOverFollowersLocked() }
    if pointee.machine.traits.contains(.segments) { return isActorBlockedLocked() }
    let slot: OperationSlot.Pointer?
    if isSelective {
      slot = order?.firstBeforeLevels()?.slot
    } else {
      slot = firstSlotLocked()
    }
    guard let slot else { return false }
    return mustWaitLocked(slot, asksForNames: !isSelective)
  }

  /// The same for an actor lane, where segments and further attempts do not wait for operations
  /// that have not begun.
  private func isActorBlockedLocked() -> Bool {
    let isHeld = isHeldByPaceLocked
    while let slot = order?.pointee.front.first()?.slot {
      // One that has ended only waits to be dropped.
      if isHeld && slot.loadWord().flags.isDisjoint(with: [.segment, .claimed]) { return true }
      if !mustWaitLocked(slot, asksForNames: true) { return false }
      // A further attempt waits for its names; the jobs behind it need not.
      _ = order!.pointee.front.pop()
      order!.block(slot)
    }
    let slot = firstSlotLocked()
    let isSegment = slot?.loadWord().contains(.segment) == true
    // While it is held, it must not have names that others need.
    let mustWait = isHeld || slot.map { mustWaitLocked($0, asksForNames: true) } ?? false
    if isSegment || !mustWait { return false }
    return !bringBegunForwardLocked() || isActorBlockedLocked()
  }

  @_optimize(speed)
  private func mustWaitLocked(_ slot: OperationSlot.Pointer, asksForNames: Bool) -> Bool {
    guard let plan = slot.plan, !slot.loadWord().contains(.claimed) else { return false }
    return plan.pointee.blockers > 0 || (asksForNames && !hasNamesLocked(slot, plan))
  }

  /// Whether a pending operation has all its names, now that it is its turn. It gets in line for
  /// them; having to wait counts as one more blocker.
  @_optimize(speed)
  private func hasNamesLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer
  ) -> Bool {
    guard let names = plan.pointee.names, !names.pointee.isMade else { return true }
    names.pointee.isMade = true
    if Engine.current.pointee.names.claim(names, for: slot) { return true }
    plan.pointee.blockers += 1
    return false
  }

  /// The same for an operation that has been taken out to be started. If it has to wait, it is put
  /// aside.
  func claimNamesLocked(_ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer) -> Bool {
    if hasNamesLocked(slot, plan) { return true }
    let order = needOrder()
    if slot.pointee.flags.contains(.isFence) {
      order.pointee.isFenceRunning = false
    } else {
      order.block(slot)
    }
    return false
  }
}
