/// The position of a walk through a lane. The lane is unlocked between two pieces of the walk.
struct LanePlace {
  fileprivate enum Stage: Int {
    case queue, running, front, levels, blocked, fence, behind, buffer, held, end
  }

  fileprivate var stage = Stage.queue
  /// False until the walk has begun the stage's list.
  fileprivate var isBegun = false
  fileprivate var generation: UInt32 = 0
  fileprivate var jobs = JobPlace()
  /// The levels above this priority are done.
  fileprivate var priority = Int64.max
  /// If an operation has more entries than there is room for: how many of them are done.
  fileprivate var parts = 0
  fileprivate var partsOf = Handle(bits: 0)
  /// How many graphs are done.
  fileprivate var graphs = 0
  /// How many more jobs this piece may look at.
  fileprivate var looks = 0

  fileprivate mutating func goOn() {
    stage = Stage(rawValue: stage.rawValue + 1) ?? .end
    isBegun = false
    jobs = JobPlace()
  }
}

/// What a lane adds to a snapshot: the queue, the running operations, and the pending ones, roughly in
/// the order in which they start.
///
/// The first piece is consistent, and most lanes need no other. Each further piece continues where the
/// last one ended, as far as that place can be found again.
extension UnsafeMutablePointer<Lane> {
  /// How many jobs a piece looks at under the lock.
  private static var looksInPiece: Int { 8192 }

  /// Adds a piece. False if it was the last one.
  func addPiece(_ room: inout SnapshotRoom, _ place: inout LanePlace, index: UInt32) -> Bool {
    pointee.lock.lock()
    defer { pointee.lock.unlockAfterReadingObject() }
    if isGoneLocked { return false }
    let handle = Handle(.queue, index: index, generation: pointee.generation)
    if place.stage == .queue {
      place.generation = pointee.generation
      room.add(entryLocked(handle))
      place.goOn()
    }
    if place.generation != pointee.generation { return false }
    // Its drainer then waits for the lock, so that nothing is listed twice.
    stopBurstLocked()
    place.looks = Self.looksInPiece
    while place.stage != .end {
      if !addStageLocked(&room, &place, handle) { return true }
      place.goOn()
    }
    return false
  }

  private func entryLocked(_ handle: Handle) -> SnapshotEntry {
    let statistics = statisticsLocked
    var entry = SnapshotEntry(.queue)
    entry.id = handle
    entry.setLabel(label)
    entry.queueKind = pointee.machine.traits.kind
    entry.cause = causeLocked
    entry.executor = executor.handle
    entry.clock = hasOwnClock ? clock.handle : Handle(bits: 0)
    entry.suspends = statistics.suspends
    entry.pending = statistics.pending
    entry.running = statistics.running
    entry.ended = statistics.finished + statistics.ends.sum
    entry.moment = statistics.nextStart
    if pointee.machine.flags.contains(.closed) { entry.flags.insert(.closed) }
    if pointee.machine.flags.contains(.waitedFor) { entry.flags.insert(.waitedFor) }
    return entry
  }

  /// Adds the entries of a stage. False if there is no more room.
  private func addStageLocked(
    _ room: inout SnapshotRoom, _ place: inout LanePlace, _ handle: Handle
  ) -> Bool {
    func add(_ jobs: JobBuffer?) -> Bool {
      jobs.map { addLocked($0, &room, &place, handle) } ?? true
    }
    switch place.stage {
    case .queue, .end: return true
    case .running: return addLinkedLocked(firstRunningSlot, .running, &room, &place, handle)
    case .front: return add(order?.pointee.front)
    case .levels: return addLevelsLocked(&room, &place, handle)
    case .blocked: return addLinkedLocked(order?.firstBlocked, .pending, &room, &place, handle)
    case .fence:
      guard let order, let fence = order.pointee.fence, !order.pointee.isFenceRunning
      else { return true }
      return addLocked(Job(slot: fence), &room, &place, handle)
    case .behind: return add(order?.pointee.behind)
    case .buffer: return add(pointee.buffer)
    case .held: return addHeldLocked(&room, &place, handle)
    }
  }

  /// Adds the jobs of a buffer.
  private func addLocked(
    _ jobs: JobBuffer, _ room: inout SnapshotRoom, _ place: inout LanePlace, _ handle: Handle
  ) -> Bool {
    var from = place.jobs
    defer { place.jobs = from }
    return jobs.forEach(from: &from) { addLocked($0, &room, &place, handle) }
  }

  private func addLevelsLocked(
    _ room: inout SnapshotRoom, _ place: inout LanePlace, _ handle: Handle
  ) -> Bool {
    guard let order else { return true }
    while let level = order.level(atMost: place.priority) {
      if place.priority != level.pointee.priority { place.jobs = JobPlace() }
      place.priority = level.pointee.priority
      if !addLocked(level.pointee.jobs, &room, &place, handle) { return false }
      if place.priority == Int64.min { break }
      place.priority -= 1
      place.jobs = JobPlace()
      // Counted after the level, so that each piece makes progress.
      place.looks -= order.levelCount
      if place.looks <= 0 { return false }
    }
    return true
  }

  /// Jobs that batches hold back have no slots and are all alike: each graph gets one entry.
  private func addHeldLocked(
    _ room: inout SnapshotRoom, _ place: inout LanePlace, _ handle: Handle
  ) -> Bool {
    var next = pointee.extra?.pointee.graphs.first
    var number = 0
    while let graph = next {
      next = graph.pointee.next
      number += 1
      if number <= place.graphs { continue }
      if room.free == 0 { return false }
      var entry = SnapshotEntry(.operation)
      entry.queue = handle
      entry.batch = graph.pointee.batch._withUnsafeGuaranteedRef { $0.handle }
      entry.state = .pending
      entry.cause = .after
      entry.count = UInt64(graph.pointee.held)
      room.add(entry)
      place.graphs = number
    }
    return true
  }

  // MARK: Operations

  /// Adds operations of a list linked by their slots, starting after the one that was added last.
  private func addLinkedLocked(
    _ first: OperationSlot.Pointer?, _ state: OperationState, _ room: inout SnapshotRoom,
    _ place: inout LanePlace, _ handle: Handle
  ) -> Bool {
    var next = first
    if place.isBegun { next = nextLocked(first, state, room, place, handle) }
    place.isBegun = true
    while let slot = next {
      if !addLocked(slot, state, &room, &place, handle) { return false }
      next = slot.next
    }
    return true
  }

  /// The operation after the last one that was added and is still in the list. Nil if all that the room
  /// remembers are gone: then the rest of the list is left out.
  private func nextLocked(
    _ first: OperationSlot.Pointer?, _ state: OperationState, _ room: SnapshotRoom,
    _ place: LanePlace, _ handle: Handle
  ) -> OperationSlot.Pointer? {
    func linked(_ id: Handle) -> OperationSlot.Pointer? {
      guard let slot = OperationSlot.Pointer(at: id.index), slot.lane == self else { return nil }
      let isBlocked = slot.pointee.flags.contains(.isBlocked)
      guard isBlocked == (state == .pending), slot.firstGeneration == id.generation
      else { return nil }
      let previous = OperationSlot.Pointer(at: slot.pointee.previous)
      return (previous.map { $0.next } ?? first) == slot ? slot : nil
    }
    if place.parts > 0, let slot = linked(place.partsOf) { return slot }
    var number = 0
    while let entry = room.told(number) {
      number += 1
      guard entry.kind == .operation, entry.queue == handle, let slot = linked(entry.id)
      else { continue }
      return slot.next
    }
    return nil
  }

  /// Adds a pending job. False if there is no room for it, or if this piece has looked at enough.
  private func addLocked(
    _ job: Job, _ room: inout SnapshotRoom, _ place: inout LanePlace, _ handle: Handle
  ) -> Bool {
    place.looks -= 1
    if place.looks < 0 { return false }
    guard let slot = job.slot else {
      return job.isTakenOut || addPlainLocked(job, &room, handle)
    }
    let word = slot.loadWord()
    if word.contains(.claimed) || word.contains(.segment) { return true }
    return addLocked(slot, .pending, &room, &place, handle)
  }

  /// Adjacent jobs without slots that do not differ share one entry.
  private func addPlainLocked(_ job: Job, _ room: inout SnapshotRoom, _ handle: Handle) -> Bool {
    let batch = Batch.handle(of: job.destroy, job.context)
    if room.addToLast(ofBatch: batch) { return true }
    if room.free == 0 { return false }
    var entry = SnapshotEntry(.operation)
    entry.queue = handle
    entry.batch = batch
    entry.state = .pending
    entry.cause = .turn
    entry.count = 1
    room.add(entry)
    return true
  }

  /// Adds an operation with its dependencies and names. False if there is no room: the next piece then
  /// begins with it, or with the rest of it if it would never fit in one piece.
  private func addLocked(
    _ slot: OperationSlot.Pointer, _ state: OperationState, _ room: inout SnapshotRoom,
    _ place: inout LanePlace, _ handle: Handle
  ) -> Bool {
    let word = slot.loadWord()
    if word.isEnded { return true }
    let id = Handle(.operation, index: slot.index, generation: slot.firstGeneration)
    let plan = slot.plan
    let edges = word.isPending ? plan?.pointee.linkedCount ?? 0 : 0
    let claims = plan?.pointee.names
    let leader = slot.groups.flatMap { $0.pointee.isFollowing ? $0.pointee.party?.leader : nil }
    let nameCount = claims.map { Engine.current.pointee.names.count(of: $0) } ?? 0
    let all = 1 + edges + nameCount + (leader == nil ? 0 : 1)
    if place.partsOf != id { (place.partsOf, place.parts) = (id, 0) }
    if place.parts == 0 && room.free < min(all, room.capacity / 2) { return false }
    while place.parts < all {
      if room.free == 0 { return false }
      let part = place.parts
      place.parts += 1
      if part == 0 {
        room.add(entryLocked(of: slot, word, state, id, handle))
        continue
      }
      var entry = SnapshotEntry(.after)
      if part <= edges {
        let edge = plan.unsafelyUnwrapped.pointee.edges! + (part - 1)
        guard let earlier = edge.pointee.earlier else { continue }
        entry.other = Handle(
          .operation, index: earlier.index, generation: edge.pointee.earlierGeneration)
      } else if let leader, part == all - 1 {
        entry.other = Handle(.operation, index: leader.index, generation: leader.firstGeneration)
      } else if let claims {
        entry = SnapshotEntry(.name)
        let number = part - 1 - edges
        guard let told = Engine.current.pointee.names.state(of: claims, at: number)
        else { continue }
        (entry.state, entry.other) = told
        entry.setLabel(claims.name(at: number).text)
      }
      (entry.queue, entry.operation, entry.site) = (handle, id, siteLocked(of: slot))
      room.add(entry)
    }
    place.parts = 0
    return true
  }

  private func entryLocked(
    of slot: OperationSlot.Pointer, _ word: OperationWord, _ state: OperationState, _ id: Handle,
    _ handle: Handle
  ) -> SnapshotEntry {
    var entry = SnapshotEntry(.operation)
    (entry.id, entry.queue, entry.state, entry.count) = (id, handle, state, 1)
    entry.setLabel(slot.label)
    if word.hasLastingContext {
      entry.batch = Batch.handle(of: slot.pointee.destroy, slot.pointee.context)
    }
    entry.enqueuedAt = slot.pointee.enqueuedAt
    entry.site = siteLocked(of: slot)
    if state == .running {
      entry.startedAt = slot.pointee.startedAt
      entry.cause = causeLocked(ofRunning: word)
      entry.token = Handle(.token, index: slot.index, generation: word.generation)
    } else {
      entry.cause = causeLocked(ofPending: slot)
    }
    if word.contains(.cancelRequested) { entry.flags.insert(.cancelled) }
    if word.isAwaited { entry.flags.insert(.waitedFor) }
    if let plan = slot.plan {
      entry.priority = plan.pointee.priority
      entry.attempts = plan.pointee.attempts
      if plan.pointee.isBarrier { entry.flags.insert(.barrier) }
      if plan.pointee.isUrgent { entry.flags.insert(.urgent) }
    }
    if let owner = slot.groups?.pointee.owner { entry.owner = owner.handle }
    return entry
  }
}

extension OperationWord {
  /// Whether the operation keeps its context while its lane is locked. A drainer may be destroying the
  /// context of one that it starts without the lock, or of one that has just ended.
  fileprivate var hasLastingContext: Bool {
    if contains(.claimed) { return false }
    return contains(.observed) && isPending
      || contains(.returned) && (contains(.observed) || !contains(.ended))
  }
}
