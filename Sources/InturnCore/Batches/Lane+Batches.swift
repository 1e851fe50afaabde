import CInturnSystem

/// Adding a batch's operations to a lane.
extension UnsafeMutablePointer<Lane> {
  /// Adds them all, one after the other, or none. When this is refused, the caller destroys the
  /// contexts.
  func enqueue(
    _ batch: Batch, generation: UInt32, options: OperationOptions?, item: (Int) -> BatchItem
  ) -> Status {
    // Whoever is told the queue's events is told of each operation, which then needs a slot.
    let options = options ?? (isObserved ? OperationOptions() : nil)
    return OperationSlot.Pointer.withEarlier(options?.after) {
      enqueue(batch, generation, options, earlier: $0, item: item)
    }
  }

  private func enqueue(
    _ batch: Batch, _ generation: UInt32, _ options: OperationOptions?,
    earlier: UnsafeBufferPointer<OperationSlot.Pointer>, item: (Int) -> BatchItem
  ) -> Status {
    var jobs = JobBuffer()
    var made = 0
    let now = inturn_system_now()
    while made < batch.count {
      let entry = batch.fill(made, with: item(made))
      if let options {
        guard let slot = makeSlot(for: entry, generation, options, earlier, now) else { break }
        entry.pointee.slot = slot
        if !jobs.append(Job(slot: slot)) {
          slot.discard(Self.referencesInBatch)
          break
        }
      } else if !jobs.append(Job(batch: entry)) {
        break
      }
      made += 1
    }
    var status: Status = made == batch.count ? .ok : .noMemory
    if status == .ok {
      batch.willBeEnqueued()
      status = acceptAll(&jobs, batch.count, generation, options, earlier)
      if status == .ok { return .ok }
      batch.wasRefused()
    }
    while let job = jobs.pop() { job.slot?.discard(Self.referencesInBatch) }
    jobs.release()
    return status
  }

  private var isObserved: Bool {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    return pointee.machine.flags.contains(.isObserved)
  }

  /// A slot of an operation to come. The engine has a reference, the buffer, and the batch.
  private func makeSlot(
    for entry: UnsafeMutablePointer<BatchEntry>, _ generation: UInt32, _ options: OperationOptions,
    _ earlier: UnsafeBufferPointer<OperationSlot.Pointer>, _ now: Int64
  ) -> OperationSlot.Pointer? {
    guard
      let slot = OperationSlot.Pointer.take(
        for: self, generation, .observed, references: Self.referencesInBatch)
    else { return nil }
    slot.pointee.work = Batch.work
    slot.pointee.context = UnsafeMutableRawPointer(entry)
    slot.pointee.destroy = Batch.destroy
    slot.pointee.enqueuedAt = now
    var options = options
    if options.condition != nil { options.condition = Batch.condition }
    if options.retry?.decide != nil { options.retry!.decide = Batch.decide }
    if withUnsafePointer(to: options, { slot.giveDetails($0, earlier: earlier.count) }) {
      return slot
    }
    slot.discard(Self.referencesInBatch)
    return nil
  }

  private static var referencesInBatch: UInt32 { 3 }

  private func acceptAll(
    _ jobs: inout JobBuffer, _ count: Int, _ generation: UInt32, _ options: OperationOptions?,
    _ earlier: UnsafeBufferPointer<OperationSlot.Pointer>
  ) -> Status {
    pointee.lock.lock()
    var status = admitLocked(generation, count: UInt64(count))
    let plan = jobs.first()?.slot?.plan
    if status == .ok, let plan, !canHonourLocked(plan) { status = .unsupported }
    if options?.joins == true { status = .unsupported }
    // Each has a reference of the batch's, so that it stays.
    var slots: [OperationSlot.Pointer] = []
    if status == .ok && options != nil {
      _ = jobs.forEach {
        status = enterGroupsLocked($0.slot!)
        if status == .ok { slots.append($0.slot!) }
        return status == .ok
      }
    }
    if status != .ok {
      for slot in slots { leaveGroupsLocked(slot) }
      pointee.lock.unlock()
      return status
    }
    if hasOwnClock {
      let now = clock.now
      for slot in slots {
        _ = slot.set(.ownClock)
        slot.pointee.enqueuedAt = now
      }
    }
    if plan != nil {
      while let job = jobs.pop() {
        if !placeLocked(job.slot!, job.slot!.plan!) { Self.outOfMemory() }
      }
      jobs.release()
    } else {
      spliceLocked(&jobs, count)
    }
    for slot in slots {
      armForWaitLocked(slot)
      noteLocked(.enqueued, of: slot)
    }
    let linked = earlier.isEmpty ? [] : slots
    for slot in linked { slot.addReference() }
    unlockAndAskForDrainer()
    for slot in linked {
      link(slot, slot.plan!, earlier)
      slot.dropReference()
    }
    return .ok
  }

  /// Takes the bare jobs of a batch out that wait, as cancelled ones. One that a drainer is just
  /// coming to may stay.
  func removeJobs(of batch: Batch, generation: UInt32) {
    pointee.lock.lock()
    if refusalLocked(generation) != nil { return }
    stopBatchLocked()
    let extra = needExtra()
    let identity = Unmanaged.passUnretained(batch)
    var dead = JobBuffer()
    func isDead(_ job: Job) -> Bool {
      guard let entry = job.batchEntry,
        entry.pointee.batch.toOpaque() == identity.toOpaque(), dead.append(job)
      else { return false }
      pointee.pending -= 1
      extra.pointee.cancelled += 1
      countEndLocked(wasRunning: false)
      return true
    }
    pointee.buffer.removeAll(isRead: pointee.machine.flags.contains(.batching), where: isDead)
    order?.removeAll(where: isDead)
    if case .some(var next) = dead.takeAll() {
      while let chunk = next {
        next = chunk.pointee.next
        chunk.pointee.next = nil
        buryLocked(chunk)
      }
    }
    unlockAndAskForDrainer()
  }

  /// Lets a batch of nothing end as any batch does: by its queue's executor.
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
    // It is none of the queue's operations.
    slot.pointee.flags.insert(.counted)
    _ = slot.cutOffLocked(.finished, cause: .none)
    _ = settleLocked(slot, endedInsideCall: false)
    unlockAndAskForDrainer()
    return .ok
  }
}

extension Job {
  fileprivate init(batch entry: UnsafeMutablePointer<BatchEntry>) {
    self.init(work: Batch.work, context: UnsafeMutableRawPointer(entry), destroy: Batch.destroy)
  }

  /// The entry, of a bare job of a batch.
  fileprivate var batchEntry: UnsafeMutablePointer<BatchEntry>? {
    guard let destroy, Batch.isDestroy(destroy) else { return nil }
    return context?.assumingMemoryBound(to: BatchEntry.self)
  }
}
