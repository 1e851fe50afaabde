/// What lanes say to who looks for a ring of waits.
extension UnsafeMutablePointer<Lane> {
  /// What has to come to pass before an operation ends, besides that others end.
  enum Need {
    case nothing
    /// Its work, which is being called, or a token that somebody has.
    case itsWork
    /// Others' ends alone.
    case others
    /// Its turn. It has none while so many places are taken, or so many drainers held up.
    case turn(places: UInt64, drainers: UInt64)
  }

  /// What an operation needs that a search has a reference of. Adds those that have to end before,
  /// each with a reference: those that it comes after, who stands before it in line for a name, who
  /// it has joined, and what its lane has before it where nothing passes it by. `strays` are references
  /// to be given up with those.
  func whatKeepsBack(
    _ slot: OperationSlot.Pointer, _ earlier: inout [OperationSlot.Pointer],
    strays: inout [OperationSlot.Pointer]
  ) -> Need {
    pointee.lock.lock()
    let word = slot.loadWord()
    // The lane of one that has ended may be another queue's.
    guard !word.isEnded else {
      pointee.lock.unlock()
      return .nothing
    }
    guard word.isPending else {
      pointee.lock.unlock()
      return .itsWork
    }
    if let groups = slot.groups, groups.pointee.isFollowing {
      let leader = groups.pointee.party!.leader
      leader.addReference()
      pointee.lock.unlockAfterReadingObject()
      earlier.append(leader)
      return .others
    }
    let isBehindFence = !slot.pointee.flags.isDisjoint(with: [.isFence, .isBehind])
    let takesAllBefore = isBehindFence || !isSelective
    var places: UInt64 = 0
    if pointee.machine.traits.contains(.limited) {
      places = isBehindFence ? 1 : UInt64(pointee.extra.unsafelyUnwrapped.pointee.settings.limit)
    }
    let drainers = UInt64(pointee.machine.maximumDrainers(view))
    if let names = slot.plan?.pointee.names {
      Engine.current.pointee.names.addAhead(of: names, to: &earlier)
    }
    addEarlierLocked(of: slot, to: &earlier, &strays)
    pointee.lock.unlock()
    if takesAllBefore { addPending(before: slot, to: &earlier) }
    return .turn(places: places, drainers: drainers)
  }

  /// How much of what is pending is looked at under the lock: so many jobs without slots, or a
  /// sixteenth of that with them. Who has more before it is not refused for what comes after that.
  private static var reach: Int { 160_000 }

  /// Adds the pending operations that may wait for others, each with a reference; only those before
  /// this one, if it is given.
  func addPending(
    before slot: OperationSlot.Pointer?, to result: inout [OperationSlot.Pointer]
  ) {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    stopBurstLocked()
    var left = Self.reach
    _ = forEachPendingLocked { job in
      left -= 1
      guard let other = job.slot else { return left > 0 }
      if other == slot { left = 0 }
      if left > 0, other.plan != nil, other.loadWord().isPending {
        other.addReference()
        result.append(other)
      }
      left -= 15
      return left > 0
    }
  }

  /// Adds the operations that a pending one comes after. There may be any number, so that the lock is
  /// given up and taken again after some.
  private func addEarlierLocked(
    of slot: OperationSlot.Pointer, to result: inout [OperationSlot.Pointer],
    _ strays: inout [OperationSlot.Pointer]
  ) {
    var count = 0
    while slot.lane == self, slot.loadWord().isPending, let plan = slot.plan,
      let edges = plan.pointee.edges, count < plan.pointee.linkedCount
    {
      let edge = edges + count
      count += 1
      if let earlier = edge.pointee.earlier, earlier.tryAddReference() {
        if earlier.firstGeneration == edge.pointee.earlierGeneration {
          result.append(earlier)
        } else {
          // The slot is another one's by now.
          strays.append(earlier)
        }
      }
      if count % Self.portion == 0 {
        pointee.lock.unlock()
        pointee.lock.lock()
      }
    }
  }

  var hostExecutor: HostExecutor? {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    return executor as? HostExecutor
  }

  var describedForReports: String {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    guard let label else { return "an unnamed queue" }
    return "queue \(Report.quoted(label))"
  }
}
