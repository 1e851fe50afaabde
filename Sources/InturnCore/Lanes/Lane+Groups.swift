import Synchronization

/// Operations that belong together: by key, by owner, or because they have joined another one.
extension UnsafeMutablePointer<Lane> {
  /// Adds an operation to its groups before it is placed. The caller has checked that the queue
  /// accepts it.
  @_optimize(speed)
  func enterGroupsLocked(_ slot: OperationSlot.Pointer) -> Status {
    guard let groups = slot.groups else { return .ok }
    if let owner = groups.pointee.owner {
      let status = owner.add(slot)
      if status != .ok {
        groups.pointee.owner = nil
        return status
      }
    }
    if let key = groups.pointee.key {
      let extra = needExtra()
      if extra.pointee.keys == nil { extra.pointee.keys = KeyTable() }
      extra.pointee.keys!.append(slot, key: key)
    }
    return .ok
  }

  /// Removes an operation from its groups, because it has ended or was not accepted after all.
  @_optimize(speed)
  func leaveGroupsLocked(_ slot: OperationSlot.Pointer) {
    guard let groups = slot.groups else { return }
    if let owner = groups.pointee.owner {
      owner.remove(slot)
      groups.pointee.owner = nil
    }
    if let key = groups.pointee.key {
      pointee.extra!.pointee.keys!.remove(slot, key: key)
      groups.pointee.key = nil
    }
  }

  // MARK: Joining

  /// The operation that a new one with the same key joins.
  func leaderLocked(for slot: OperationSlot.Pointer) -> OperationSlot.Pointer? {
    guard let groups = slot.groups, groups.pointee.joins, let key = groups.pointee.key
    else { return nil }
    guard let first = pointee.extra?.pointee.keys?.first(key), first != slot else { return nil }
    guard let party = first.groups!.pointee.party else { return first }
    return party.isEnding ? nil : party.leader
  }

  /// Makes an operation wait for another one's end, which becomes its own. False when memory runs
  /// out.
  ///
  /// It keeps the place in which it was enqueued, like any operation that waits. No fence waits for
  /// it that its leader is, or is behind, since the leader came first. If it is promoted, it is
  /// already where barriers and the operations that depend on it let it start.
  func joinLocked(
    _ slot: OperationSlot.Pointer, _ leader: OperationSlot.Pointer, _ outbox: inout Outbox
  ) -> Bool {
    slot.needPlanLocked()
    slot.plan!.pointee.blockers += 1
    // Holds it when its turn passes.
    if !isSelective { _ = needOrder() }
    guard placeLocked(slot, slot.plan!, &outbox) else { return false }
    let leading = leader.groups!
    let party = leading.pointee.party ?? Party(leader: leader)
    leading.pointee.party = party
    leading.pointee.hasBeenJoined = true
    party.append(slot)
    return true
  }

  /// An operation that others have joined has ended, and so do they, in the same way. But if its
  /// own caller cancelled it, the first follower stands in for it. The follower comes next if the
  /// leader had started or the follower's turn has passed.
  @_optimize(speed)
  func endFollowersLocked(_ leader: OperationSlot.Pointer, _ outbox: inout Outbox) {
    guard let groups = leader.groups, let party = groups.pointee.party, party.leader == leader
    else { return }
    // From now on, the party has a reference of its leader, but the leader none of the party.
    groups.pointee.party = nil
    guard let first = party.firstFollower else { return }
    let outcome = leader.loadWord().outcome!
    let causes: [Cause] = [.request, .owner, .grace]
    if outcome == .cancelled && causes.contains(leader.pointee.cause) {
      promoteLocked(first, in: party, &outbox)
      return
    }
    party.isEnding = true
    if !endSomeLocked(of: party, &outbox) { outbox.end(party) }
  }

  /// Ends some followers of an operation that has ended. False when others are left.
  private func endSomeLocked(of party: Party, _ outbox: inout Outbox) -> Bool {
    let leader = party.leader
    let payload = OperationSlot.Pointer.Payload(
      code: leader.pointee.code, result: leader.pointee.result)
    for _ in 0..<Self.portion {
      guard let slot = party.firstFollower else { return true }
      cutOffLocked(slot, leader.loadWord().outcome!, .joined, payload: payload, &outbox)
    }
    return party.firstFollower == nil
  }

  /// Ends the remaining followers, a portion at a time, and returns what follows from that. Called
  /// without a lock.
  static func end(_ party: Party) -> Followup {
    let lane = party.leader.lane
    lane.pointee.lock.lock()
    if party.firstFollower == nil {
      // The queue may be gone, and the lane free or another queue's.
      lane.pointee.lock.unlock()
      return Followup()
    }
    var outbox = Outbox()
    let isDone = lane.endSomeLocked(of: party, &outbox)
    if !isDone { outbox.end(party) }
    let followup = outbox.takeFollowup()
    lane.unlock(&outbox)
    return followup
  }

  private func promoteLocked(
    _ slot: OperationSlot.Pointer, in party: Party, _ outbox: inout Outbox
  ) {
    let (old, plan) = (party.leader, slot.plan!)
    party.promote(slot)
    slot.groups!.pointee.hasBeenJoined = party.firstFollower != nil
    plan.pointee.comesNext =
      old.countOfAttempts > 0
      || (!isSelective && slot.pointee.flags.contains(.isBlocked))
    unblockLocked(slot, plan, &outbox)
  }

  /// Passes over followers whose turn it is. Their leader has begun and the lane does not wait for
  /// it to end, so they leave the buffer until it has.
  func passOverFollowersLocked() {
    guard let order, order.pointee.front.isEmpty else { return }
    while let slot = firstSlotLocked(), !slot.loadWord().contains(.claimed),
      slot.groups?.pointee.isFollowing == true
    {
      _ = pointee.buffer.pop()
      order.block(slot)
    }
  }

  // MARK: By key

  /// Ends a key's operations that have not ended, a portion at a time, and returns how many there
  /// were. One that runs is only asked to end, and only to cancel it. Goes from the last to the
  /// first, so that a leader does not end its followers before they are reached.
  func end(
    _ key: Bytes, as outcome: Outcome, _ cause: Cause, generation: UInt32
  ) -> (Status, UInt64) {
    pointee.lock.lock()
    if let refusal = refusalLocked(generation) { return (refusal, 0) }
    var count: UInt64 = 0
    var walk: KeyTable.Walk?
    var next = pointee.extra?.pointee.keys?.last(key)
    while true {
      var outbox = Outbox()
      for _ in 0..<Self.portion {
        guard let slot = next else { break }
        next = slot.groups!.pointee.sameKeyBefore
        if endLocked(slot, as: outcome, cause, &outbox) { count += 1 }
      }
      if next != nil && walk == nil {
        walk = KeyTable.Walk()
        pointee.extra!.pointee.keys!.begin(walk!)
      }
      if next == nil, let walk { pointee.extra!.pointee.keys!.end(walk) }
      walk?.next = next
      unlock(&outbox)
      guard next != nil, let walk else { return (.ok, count) }
      pointee.lock.lock()
      // The queue is gone, and the remaining operations with it.
      if refusalLocked(generation) != nil { return (.ok, count) }
      next = walk.next
    }
  }

  /// Whether the operation counts.
  private func endLocked(
    _ slot: OperationSlot.Pointer, as outcome: Outcome, _ cause: Cause, _ outbox: inout Outbox
  ) -> Bool {
    let word = slot.loadWord()
    if word.contains(.started) {
      return outcome == .cancelled && requestCancelLocked(slot, cause, &outbox)
    }
    cutOffLocked(slot, outcome, cause, &outbox)
    return !word.contains(.claimed)
  }
}
