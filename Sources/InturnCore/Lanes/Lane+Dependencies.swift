import Synchronization

/// Operations that come after others, and operations that share names.
extension UnsafeMutablePointer<Lane> {
  // MARK: Waiting

  /// Makes an accepted operation come after the ones of its plan. Until this is done, the plan
  /// counts one blocker more than there are edges. No lock is held; the caller holds a reference of
  /// each of the earlier ones, and of the operation.
  func link(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer,
    _ earlier: UnsafeBufferPointer<OperationSlot.Pointer>
  ) {
    var links = Links()
    for target in earlier {
      let lane = target.lane
      lane.pointee.lock.lock()
      links.add(slot, plan, target)
      lane.pointee.lock.unlock()
    }
    pointee.lock.lock()
    var outbox = Outbox()
    plan.pointee.linkedCount = earlier.count
    plan.pointee.blockers -= links.over
    // Of one that has ended, the queue may be gone, and the lane be free or another one's.
    if slot.loadWord().contains(.claimed) {
      pointee.lock.unlock()
      return
    }
    startOrCutOffLocked(slot, plan, isLost: links.isLost, &outbox)
    unlock(&outbox)
  }

  /// The same when the earlier ones are of this lane, too.
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

  /// What follows when one that it comes after is over. `isLost`: that one did not finish.
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

  /// The edges of an operation as they are set up, one after the other.
  private struct Links {
    private var count = 0
    /// How many blockers there are less than was said: one for the setting up, and those that have
    /// ended before.
    private(set) var over: UInt32 = 1
    /// Whether one of those did not finish.
    private(set) var isLost = false

    /// Adds an edge to an earlier operation, whose lane is locked, unless that one has ended.
    mutating func add(
      _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer, _ earlier: OperationSlot.Pointer
    ) {
      let edge = plan.pointee.edges! + count
      count += 1
      edge.initialize(
        to: Edge(later: slot, earlier: earlier, earlierGeneration: earlier.firstGeneration))
      // From then on, nobody looks for edges any more.
      if earlier.pointee.flags.contains(.counted) {
        edge.pointee.earlier = nil
        over += 1
        isLost = isLost || earlier.loadWord().outcome != .finished
        return
      }
      let details = earlier.needDetailsLocked()
      slot.addReference()
      if let last = details.pointee.lastEdge {
        last.pointee.next = edge
      } else {
        details.pointee.firstEdge = edge
      }
      details.pointee.lastEdge = edge
    }
  }

  // MARK: Telling

  /// The operation has ended: those that come after it are to be told, once the lock is given up.
  @_optimize(speed)
  func releaseEdgesLocked(_ slot: OperationSlot.Pointer, _ outbox: inout Outbox) {
    guard let details = slot.pointee.details, let first = details.pointee.firstEdge else { return }
    outbox.tell(first, to: details.pointee.lastEdge!, slot.loadWord().outcome)
    details.pointee.firstEdge = nil
    details.pointee.lastEdge = nil
  }

  /// Tells those of this lane that are first in the list at once, some at a time: an operation has
  /// ended and nothing is being swept out. One that ends by it is left in the list, as it may have
  /// others come after it.
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

  /// Tells an operation of this lane that one that it comes after has ended. False, with nothing
  /// done, when it is another lane's, or ends by that.
  @inline(__always)
  private func tellLocked(
    _ edge: Edge.Pointer, _ outcome: Outcome, _ outbox: inout Outbox
  ) -> Bool {
    let later = edge.pointee.later
    guard later.lane == self, let plan = later.plan, !later.loadWord().contains(.claimed),
      !(plan.pointee.needsFinished && outcome != .finished)
    else { return false }
    edge.pointee.next = nil
    edge.pointee.earlier = nil
    unblockLocked(later, plan, &outbox)
    // Not the last one, as it is pending.
    later.pointee.references.wrappingSubtract(1, ordering: .relaxed)
    return true
  }

  /// How many others are looked at or told under the lock before somebody else may have it.
  static var portion: Int { 32 }

  /// The operation gives its names back, or does not want them any more.
  @_optimize(speed)
  func releaseNamesLocked(_ slot: OperationSlot.Pointer, _ outbox: inout Outbox) {
    guard let names = slot.plan?.pointee.names, names.isMade else { return }
    names.isMade = false
    for granted in Engine.current.pointee.names.release(names) {
      let edge = granted.plan!.pointee.names!.edge
      edge.initialize(to: Edge(later: granted))
      outbox.tell(edge, to: edge, .finished)
    }
  }

  /// Tells those of this lane that are first in a list, some at a time; `rest` is what is left of the
  /// list then. False, with nothing done, when the first one ends by that, or has ended.
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

  /// Gives what follows from that.
  func tell(
    _ slot: OperationSlot.Pointer, _ edge: Edge.Pointer, _ outcome: Outcome
  ) -> Followup {
    pointee.lock.lock()
    var outbox = Outbox()
    let plan = slot.plan!
    edge.pointee.next = nil
    edge.pointee.earlier = nil
    plan.pointee.blockers -= 1
    // Of one that has ended, the queue may be gone, and the lane be free or another one's.
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

  /// Nothing keeps a pending operation from starting any more.
  private func becameReadyLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer, _ outbox: inout Outbox
  ) {
    pointee.machine.flags.remove(.headBlocked)
    guard let order, slot.pointee.flags.contains(.isBlocked) else { return }
    order.unblock(slot)
    let job = Job(slot: slot)
    let hasNames = plan.pointee.names?.isMade == true && !plan.pointee.isUrgent
    if hasNames || plan.pointee.comesNext {
      _ = order.pointee.front.append(job, isOwed: true)
    } else if isSelective {
      _ = order.push(job, priority: slot.level, isOwed: true)
    } else if slot.hasBegun {
      _ = appendBegunLocked(job, isOwed: true)
    } else {
      _ = pointee.buffer.append(job, isOwed: true)
    }
    if plan.pointee.isUrgent { askToGiveWayLocked(&outbox) }
  }

  /// One thing less keeps a pending operation from starting.
  func unblockLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer, _ outbox: inout Outbox
  ) {
    plan.pointee.blockers -= 1
    if plan.pointee.blockers == 0 { becameReadyLocked(slot, plan, &outbox) }
  }

  /// Whether the operation whose turn it is must wait, and everything with it. A selective lane goes
  /// on with others; but an interaction lane waits for the next attempt of one that has failed. (Not
  /// for its names: what is behind it may have those that it waits for.)
  func isHeadBlockedLocked() -> Bool {
    if pointee.machine.traits.contains(.overtaking) { return false }
    if !isSelective { passOverFollowersLocked() }
    if pointee.machine.traits.contains(.segments) { return isActorBlockedLocked() }
    let slot: OperationSlot.Pointer?
    if isSelective {
      guard let order, !order.pointee.hasUrgent else { return false }
      slot = order.pointee.front.first()?.slot
    } else {
      slot = firstSlotLocked()
    }
    guard let slot else { return false }
    return mustWaitLocked(slot, asksForNames: !isSelective)
  }

  /// The same of an actor lane, where nothing that has begun waits for what has not.
  private func isActorBlockedLocked() -> Bool {
    let isHeld = isHeldByPaceLocked
    while let slot = order?.pointee.front.first()?.slot {
      if isHeld && !slot.loadWord().contains(.segment) { return true }
      if !mustWaitLocked(slot, asksForNames: true) { return false }
      // A further attempt that waits for its names; the others need not.
      _ = order!.pointee.front.pop()
      order!.block(slot)
    }
    let slot = firstSlotLocked()
    let isSegment = slot?.loadWord().contains(.segment) == true
    let mustWait = slot.map { mustWaitLocked($0, asksForNames: true) } ?? false
    if isSegment || !(isHeld || mustWait) { return false }
    return !bringBegunForwardLocked() || isActorBlockedLocked()
  }

  @_optimize(speed)
  private func mustWaitLocked(_ slot: OperationSlot.Pointer, asksForNames: Bool) -> Bool {
    guard let plan = slot.plan, !slot.loadWord().contains(.claimed) else { return false }
    return plan.pointee.blockers > 0 || (asksForNames && !hasNamesLocked(slot, plan))
  }

  /// Whether a pending operation whose turn it is has all its names. It gets into line for them;
  /// if it has to wait, that is one more blocker.
  @_optimize(speed)
  private func hasNamesLocked(
    _ slot: OperationSlot.Pointer, _ plan: OperationPlan.Pointer
  ) -> Bool {
    guard let names = plan.pointee.names, !names.isMade else { return true }
    names.isMade = true
    if Engine.current.pointee.names.claim(names, for: slot) { return true }
    plan.pointee.blockers += 1
    return false
  }

  /// The same for an operation that has been taken out to be started. False: it is put aside.
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
