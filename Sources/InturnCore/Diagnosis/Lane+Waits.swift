/// What lanes contribute to the search for a ring of waits.
extension UnsafeMutablePointer<Lane> {
  /// What an operation needs before it ends, besides the ends of others.
  enum Need {
    case nothing
    /// Its work, which is being called, or a token that somebody holds.
    case itsWork
    /// Only that others end.
    case others
    /// A turn, which it cannot get while this many places are taken or this many drainers are held up.
    /// `isOpen`: others may still come before it, in line for a name.
    case turn(places: UInt64, drainers: UInt64, isOpen: Bool)
  }

  /// What an operation needs; the search has a reference to it. Adds the operations that have to end
  /// first, each with a reference: its dependencies, those ahead of it in line for a name, the one it
  /// has joined, and those before it in its lane, if nothing can overtake. `strays` are further
  /// references that the caller has to drop.
  func whatKeepsBack(
    _ slot: OperationSlot.Pointer, _ earlier: inout [OperationSlot.Pointer],
    strays: inout [OperationSlot.Pointer], reach: Int = 160_000
  ) -> Need {
    pointee.lock.lock()
    let word = slot.loadWord()
    // After an operation has ended, its slot may belong to another lane.
    guard word.keepsOthersBack else {
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
    // One that runs and is not urgent is asked to give way to an urgent one, and may.
    let mayOvertake =
      slot.plan?.pointee.isUrgent == true && firstRunningSlot?.plan?.pointee.isUrgent != true
    let isLimited = pointee.machine.traits.contains(.limited)
    let places = isLimited && isBehindFence ? 1 : !isLimited && mayOvertake ? 0 : turnPlacesLocked
    let drainers = UInt64(pointee.machine.maximumDrainers(view))
    let names = slot.plan?.pointee.names
    if let names { Engine.current.pointee.names.addAhead(of: names, to: &earlier) }
    addEarlierLocked(of: slot, to: &earlier, &strays)
    pointee.lock.unlock()
    if takesAllBefore { addPending(.before(slot), to: &earlier, strays: &strays, reach: reach) }
    return .turn(places: places, drainers: drainers, isOpen: names != nil)
  }

  /// Which of the pending operations are before others.
  enum Place {
    /// All of them.
    case anywhere
    case before(OperationSlot.Pointer)
    /// Before the last job without a slot of this batch, or the last that tells changes of this value.
    case beforeBatch(Batch)
    case beforeTelling(TrailBase)

    func isBefore(_ job: Job) -> Bool {
      switch self {
      case .beforeBatch(let batch): batch.isOf(job)
      case .beforeTelling(let trail): QueuedCall.tells(trail, job)
      default: false
      }
    }
  }

  /// Adds the pending operations at a place that may wait for others, each with a reference; `strays`
  /// are further ones. Where others may overtake, only barriers keep jobs without slots back. At most
  /// `reach` of these are looked at under the lock; with slots, a sixteenth as many. Returns whether
  /// the place is behind a barrier.
  @inline(never) @discardableResult
  func addPending(
    _ place: Place, to result: inout [OperationSlot.Pointer],
    strays: inout [OperationSlot.Pointer], reach: Int
  ) -> Bool {
    var last: OperationSlot.Pointer?
    // How many are before the last of the jobs.
    var count: Int?
    let first = result.count
    switch place {
    case .anywhere: break
    case .before(let slot): last = slot
    case .beforeBatch, .beforeTelling: count = result.count
    }
    pointee.lock.lock()
    stopBurstLocked()
    let barriersOnly = count != nil && isSelective
    // Then all that is pending is behind it.
    var isBehind = order?.pointee.isFenceRunning == true
    var left = reach
    _ = forEachPendingLocked { job in
      left -= 1
      guard let other = job.slot else {
        if place.isBefore(job) { count = result.count }
        return left > 0
      }
      if other == last { left = 0 }
      if left > 0, let plan = other.plan, plan.pointee.isBarrier || !barriersOnly,
        other.loadWord().isPending
      {
        other.addReference()
        result.append(other)
      }
      left -= 15
      return left > 0
    }
    pointee.lock.unlock()
    guard let count else { return isBehind }
    while result.count > count { strays.append(result.removeLast()) }
    if barriersOnly && count > first { isBehind = true }
    return isBehind
  }

  /// What a job without a slot needs; see `Need.turn`.
  @inline(never)
  var turn: (places: UInt64, drainers: UInt64) {
    pointee.lock.withLock { (turnPlacesLocked, UInt64(pointee.machine.maximumDrainers(view))) }
  }

  private var turnPlacesLocked: UInt64 {
    if pointee.machine.traits.contains(.limited) {
      return UInt64(pointee.extra.unsafelyUnwrapped.pointee.settings.limit)
    }
    return pointee.machine.traits.contains(.oneAtATime) ? 1 : 0
  }

  /// Adds the operations that a pending one comes after. As there may be any number, the lock is
  /// released and taken again from time to time.
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
          // The slot belongs to another operation by now.
          strays.append(earlier)
        }
      }
      if count % Self.portion == 0 {
        pointee.lock.unlock()
        pointee.lock.lock()
      }
    }
  }

  /// Whether the lane is still the queue that this handle names.
  func isOf(_ queue: Handle) -> Bool {
    pointee.lock.withLock { pointee.generation == queue.generation }
  }

  /// The hosts' executors that have to be drained before the lane can go on: where its drainers
  /// wait, and what calls what starts, if something is to. None where the only drainer that the lane
  /// may have is in it, and will find nothing to start; and once it is quiet, as it may become while
  /// this is asked.
  var hostsToDrain: (former: HostExecutor?, present: HostExecutor?) {
    pointee.lock.withLock {
      if isQuiet { return (nil, nil) }
      let machine = pointee.machine
      let startsNothing = waitingCountLocked == 0
      if machine.active > 0 && startsNothing && !machine.traits.contains(.overlapping) {
        return (nil, nil)
      }
      let awaited = awaitedExecutorLocked
      if awaited === executor { return (nil, executor as? HostExecutor) }
      return (awaited as? HostExecutor, startsNothing ? nil : executor as? HostExecutor)
    }
  }

  var describedForReports: Text {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    let label = label.map { Text(cString: $0) }
    return label == nil ? "an unnamed queue" : Report.quoted(label, after: "queue ")
  }
}
