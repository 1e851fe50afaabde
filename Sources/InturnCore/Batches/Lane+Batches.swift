import CInturnSystem
import Synchronization

/// Adds a batch's operations to a lane.
extension UnsafeMutablePointer<Lane> {
  /// Adds all of them, in order, or none. When refused, the caller destroys the contexts.
  func enqueue(
    _ batch: Batch, generation: UInt32, options: OperationOptions?,
    edges: UnsafeBufferPointer<BatchEdge>, item: (Int) -> BatchItem
  ) -> Status {
    if options == nil && !needsSlots(edges),
      let status = enqueueBare(batch, generation, edges, item: item)
    {
      return status
    }
    return OperationSlot.Pointer.withEarlier(options?.after) {
      enqueue(
        batch, generation, options ?? OperationOptions(), edges, earlier: $0, item: item)
    }
  }

  /// Whether operations need slots even without options.
  private func needsSlots(_ edges: UnsafeBufferPointer<BatchEdge>) -> Bool {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    // An observer of the queue's events is told of each operation.
    return pointee.machine.flags.contains(.isObserved)
      || (!edges.isEmpty && !(pointee.machine.traits.contains(.overtaking) && mayHoldLocked))
  }

  /// Whether held operations can simply be appended when they become ready: there is no barrier.
  private var mayHoldLocked: Bool { order?.pointee.fence == nil }

  /// Adds operations without slots. Nil, with nothing done, when they need slots by now.
  private func enqueueBare(
    _ batch: Batch, _ generation: UInt32, _ edges: UnsafeBufferPointer<BatchEdge>,
    item: (Int) -> BatchItem
  ) -> Status? {
    if !batch.hold(edges) { return .noMemory }
    batch.isBare = true
    var jobs = JobBuffer()
    var ready = 0
    var hasMemory = true
    for place in 0..<batch.count {
      _ = batch.fill(place, with: item(place))
      if batch.isHeld(place) { continue }
      hasMemory = jobs.append(batch.job(at: place))
      if !hasMemory { break }
      ready += 1
    }
    batch.willBeEnqueued()
    pointee.lock.lock()
    let status = hasMemory ? admitLocked(generation, count: UInt64(batch.count)) : .noMemory
    let mayHold = batch.graph == nil || mayHoldLocked
    if status == .ok && mayHold {
      spliceLocked(&jobs, ready)
      if let graph = batch.graph {
        pointee.pending += graph.pointee.held
        needExtra().pointee.graphs.add(graph)
      }
      unlock()
      return .ok
    }
    pointee.lock.unlock()
    batch.wasRefused()
    while jobs.pop() != nil {}
    jobs.release()
    if status != .ok { return status }
    batch.holdNothing()
    batch.isBare = false
    return nil
  }

  private func enqueue(
    _ batch: Batch, _ generation: UInt32, _ options: OperationOptions,
    _ edges: UnsafeBufferPointer<BatchEdge>,
    earlier: UnsafeBufferPointer<OperationSlot.Pointer>, item: (Int) -> BatchItem
  ) -> Status {
    if !batch.hold(edges, options) { return .noMemory }
    var jobs = JobBuffer()
    let now = inturn_system_now()
    var count = 0
    for place in 0..<batch.count {
      let entry = batch.fill(place, with: item(place))
      let isHeld = batch.isHeld(place)
      guard
        let slot = makeSlot(
          for: entry, at: batch.site, generation, options, earlier.count, isHeld: isHeld, now)
      else { break }
      entry.pointee.slot = slot
      if !jobs.append(Job(slot: slot)) {
        slot.discard(Self.referencesInBatch)
        break
      }
      count += 1
    }
    var status: Status = count == batch.count ? .ok : .noMemory
    if status == .ok {
      batch.willBeEnqueued()
      status = acceptAll(&jobs, of: batch, generation, options, earlier)
      if status == .ok { return .ok }
      batch.wasRefused()
    }
    while let job = jobs.pop() { job.slot?.discard(Self.referencesInBatch) }
    jobs.release()
    return status
  }

  /// Takes a slot for a new operation, with references for the engine, the buffer and the batch.
  private func makeSlot(
    for entry: UnsafeMutablePointer<BatchEntry>, at site: Site, _ generation: UInt32,
    _ options: OperationOptions, _ earlier: Int, isHeld: Bool, _ now: Int64
  ) -> OperationSlot.Pointer? {
    guard
      let slot = OperationSlot.Pointer.take(
        for: self, generation, .observed, references: Self.referencesInBatch)
    else { return nil }
    slot.pointee.work = Work(known: Batch.work, at: site)
    slot.pointee.context = UnsafeMutableRawPointer(entry)
    slot.pointee.destroy = Batch.destroy
    slot.pointee.enqueuedAt = now
    var options = options
    if options.condition != nil { options.condition = Batch.condition }
    if options.retry?.decide != nil { options.retry!.decide = Batch.decide }
    if withUnsafePointer(to: options, { slot.giveDetails($0, earlier: earlier, isHeld: isHeld) }) {
      return slot
    }
    slot.discard(Self.referencesInBatch)
    return nil
  }

  private static var referencesInBatch: UInt32 { 3 }

  /// The batch holds a reference of each slot, so they stay while the lane is locked.
  private func acceptAll(
    _ jobs: inout JobBuffer, of batch: Batch, _ generation: UInt32, _ options: OperationOptions,
    _ earlier: UnsafeBufferPointer<OperationSlot.Pointer>
  ) -> Status {
    pointee.lock.lock()
    var status = admitLocked(generation, count: UInt64(batch.count))
    let plan = batch.newSlot(at: 0).plan
    if let plan, status == .ok, !canHonourLocked(plan) { status = .unsupported }
    if options.joins { status = .unsupported }
    var entered = 0
    while status == .ok && entered < batch.count {
      status = enterGroupsLocked(batch.newSlot(at: entered))
      if status == .ok { entered += 1 }
    }
    if status != .ok {
      for place in 0..<entered { leaveGroupsLocked(batch.newSlot(at: place)) }
      pointee.lock.unlock()
      return status
    }
    var outbox = Outbox()
    let now: Int64? = hasOwnClock ? clock.now : nil
    let arePlain = plan == nil && batch.graph == nil
    if arePlain { spliceLocked(&jobs, batch.count) }
    for place in 0..<batch.count {
      let slot = batch.newSlot(at: place)
      if let now {
        _ = slot.set(.ownClock)
        slot.pointee.enqueuedAt = now
      }
      if !arePlain, let job = jobs.pop() {
        _ =
          slot.plan.map { placeLocked(slot, $0, &outbox, isOwed: true) }
          ?? appendLocked(job, isOwed: true)
      }
      armForWaitLocked(slot)
      noteLocked(.enqueued, of: slot)
    }
    jobs.release()
    unlock(&outbox)
    if earlier.isEmpty { return .ok }
    for place in 0..<batch.count {
      // An operation that has ended meanwhile needs no dependencies.
      guard let slot = batch.slot(at: place) else { continue }
      link(slot, slot.plan!, earlier)
      slot.dropReference()
    }
    return .ok
  }

  /// Takes the waiting bare jobs of a batch out as cancelled, a portion at a time. They stay in the
  /// lane's buffers as tombstones. A job that a drainer is just reaching may be left.
  func removeJobs(of batch: Batch, generation: UInt32) {
    for first in stride(from: 0, to: batch.count, by: Self.portionOfGraph) {
      pointee.lock.lock()
      if refusalLocked(generation) != nil { return }
      stopBurstLocked()
      if first == 0, let graph = batch.graph { cancelLocked(graph) }
      for place in first..<Swift.min(first + Self.portionOfGraph, batch.count)
      where !batch.isHeld(place) {
        takeOutLocked(batch.job(at: place))
      }
      unlock()
    }
  }

  private func takeOutLocked(_ job: Job) {
    if job.hasStarted || isBeingStartedLocked(job) { return }
    let extra = needExtra()
    _ = extra.pointee.backlog.graveyard.append(job, isOwed: true)
    pointee.machine.flags.insert(.hasDeliveries)
    job.markTakenOut()
    Batch.addTombstoneLocked(job)
    pointee.pending -= 1
    extra.pointee.ends.add(.cancelled)
    extra.pointee.backlog.tombstones += 1
    compactLocked()
  }

  /// Whether a drainer has started it without the lock, and its work has not yet recorded that.
  private func isBeingStartedLocked(_ job: Job) -> Bool {
    guard pointee.machine.flags.contains(.bursting), let chunk = pointee.buffer.head,
      chunk.pointee.start > 0
    else { return false }
    return chunk.jobs[Int(chunk.pointee.start) - 1].context == job.context
  }

  /// Drops a job that was taken out. Called with the lock, which it may release and take again;
  /// false in a forked child, or when the process exits.
  func dropTombstoneLocked(_ job: Job, _ budget: inout DrainBudget) -> Bool {
    pointee.extra!.pointee.backlog.tombstones -= 1
    let rest = Batch.dropTombstoneLocked(job)
    guard let destroy = rest.destroy else { return true }
    unlockForCall(&budget)
    destroy(rest.context)
    return relock(budget)
  }

  /// Makes a batch without operations end like any batch: through its queue's executor.
  func enqueueEmpty(_ batch: Batch, generation: UInt32) -> Status {
    guard let slot = OperationSlot.Pointer.take(for: self, generation, .observed) else {
      return .noMemory
    }
    pointee.lock.lock()
    let status = admitLocked(generation, count: 0)
    if status != .ok {
      pointee.lock.unlock()
      slot.dropReference()
      return status
    }
    batch.willBeEnqueued()
    slot.pointee.context = Unmanaged.passUnretained(batch).toOpaque()
    slot.pointee.destroy = Batch.destroyEmpty
    // It is not one of the queue's operations.
    slot.pointee.flags.insert(.counted)
    var outbox = Outbox()
    _ = slot.cutOffLocked(.finished, cause: .none, &outbox)
    settleLocked(slot, endedInsideCall: false, &outbox)
    unlock(&outbox)
    return .ok
  }
}

extension Job {
  init(batch entry: UnsafeMutablePointer<BatchEntry>, at site: Site) {
    self.init(
      work: Work(known: Batch.work, at: site), context: UnsafeMutableRawPointer(entry),
      destroy: Batch.destroy)
  }

  /// The entry, if this is a bare job of a batch.
  @inline(__always)
  private var batchEntry: UnsafeMutablePointer<BatchEntry>? { Batch.entry(destroy, context) }

  /// Whether it was taken out, or started as far as its batch knows.
  fileprivate var hasStarted: Bool { batchEntry?.pointee.token.load(ordering: .relaxed) != 0 }

  /// Whether it was taken out and only waits to be dropped.
  @inline(__always)
  var isTakenOut: Bool {
    batchEntry?.pointee.token.load(ordering: .relaxed) == BatchEntry.takenOut
  }

  /// Marks a batch's job as taken out. Does nothing to other jobs.
  func markTakenOut() {
    batchEntry?.pointee.token.store(BatchEntry.takenOut, ordering: .relaxed)
  }
}
