/// Cancelling.
extension UnsafeMutablePointer<Lane> {
  /// Nil if the lane still belongs to the queue of this generation. Otherwise the reason, with the
  /// lock released.
  func refusalLocked(_ generation: UInt32) -> Status? {
    if pointee.generation == generation { return nil }
    pointee.lock.unlock()
    return .stale
  }

  /// Cancels one operation, of which the caller holds a reference. `generation` is given for an
  /// operation without a handle: that of its first token. Such a slot may be a gate, which can go on
  /// to another operation in spite of the reference.
  func cancel(
    _ slot: OperationSlot.Pointer, generation: UInt32? = nil, cause: Cause = .request
  ) -> Status {
    pointee.lock.lock()
    // With `attention` set, a gate goes on only under its lane's lock.
    let word = generation == nil ? slot.loadWord() : slot.set(.attention)
    // An ended operation may have outlived its queue.
    if word.isDecided || slot.lane != self
      || generation.map({ $0 != slot.firstGeneration }) ?? false
    {
      pointee.lock.unlock()
      return .alreadyFinished
    }
    var outbox = Outbox()
    if word.contains(.started) {
      guard requestCancelLocked(slot, cause, &outbox) else {
        pointee.lock.unlock()
        return slot.loadWord().isDecided ? .alreadyFinished : .cancelled
      }
    } else {
      cutOffLocked(slot, .cancelled, cause, &outbox)
    }
    unlock(&outbox)
    return .ok
  }

  /// Asks a running operation to end. False when it has been asked already, or its end is decided.
  func requestCancelLocked(
    _ slot: OperationSlot.Pointer, _ cause: Cause, _ outbox: inout Outbox
  ) -> Bool {
    // The cause is written before the request is set, so that whoever sees the request can read it.
    let mayBeFirst = !slot.loadWord().contains(.cancelRequested)
    if mayBeFirst && slot.pointee.details != nil {
      slot.needDetailsLocked().pointee.requestCause = cause
    }
    guard slot.change({ $0.requestingCancel() }) != nil else { return false }
    armForGraceLocked(slot)
    noticeLocked(slot, &outbox)
    // A cancelled operation has no further attempt, so a cut-off attempt need not be waited for.
    if slot.loadWord().contains([.restarting, .cutOff]) {
      settleLocked(slot, endedInsideCall: false, &outbox)
    }
    return true
  }

  /// False as ``performLocked(_:)``.
  func cancelAllLocked(areRunningAsked: Bool, cause: Cause, _ outbox: inout Outbox) -> Bool {
    // Keeps the lane from being cleared away while the lock is released in between.
    needExtra().pointee.quiet.outside += 1
    stopBurstLocked()
    if areRunningAsked {
      forEachRunningLocked { _ = requestCancelLocked($0, cause, &outbox) }
    }
    if !cancelPendingLocked(cause, &outbox) { return false }
    needExtra().pointee.quiet.outside -= 1
    return true
  }

  /// Cancels what is in the buffers; segments of running operations stay. Releases the lock between
  /// chunks, so that nobody is kept out for long. False as ``performLocked(_:)``.
  func cancelPendingLocked(_ cause: Cause, _ outbox: inout Outbox) -> Bool {
    let extra = pointee.extra
    let keepsSegments =
      cause == .request
      && ((extra?.pointee.backlog.segments ?? 0) > 0 || extra?.pointee.backlog.hasObstinate == true)
    let isRead = pointee.machine.flags.contains(.bursting)
    pointee.machine.flags.subtract([.headBlocked, .offered])
    while let graph = extra?.pointee.graphs.first { cancelLocked(graph) }
    if Recorder.isOn { traceLocked(.moved) }
    let jobs = pointee.buffer.takeAll(isRead: isRead)
    var (inOrder, standIns): (Chunk.Pointer?, Chunk.Pointer?)
    if let order {
      inOrder = order.takeAll()
      cancelOutsideBuffersLocked(order, cause, &outbox)
      // Followers that were promoted when their leaders were cancelled have entered a buffer.
      standIns = order.takeAll()
    }
    cancelLocked(jobs, cause, keepsSegments: keepsSegments, &outbox)
    cancelLocked(inOrder, cause, keepsSegments: keepsSegments, &outbox)
    cancelLocked(standIns, cause, keepsSegments: keepsSegments, &outbox)
    return performLocked(&outbox)
  }

  /// Cancels blocked operations and the fence.
  private func cancelOutsideBuffersLocked(
    _ order: UnsafeMutablePointer<LaneOrder>, _ cause: Cause, _ outbox: inout Outbox
  ) {
    var next = order.firstBlocked
    while let slot = next {
      cutOffLocked(slot, .cancelled, cause, &outbox)
      // Other operations may have left the list with it.
      next = slot.pointee.flags.contains(.isBlocked) ? slot.next : order.firstBlocked
    }
    if let fence = order.pointee.fence, !order.pointee.isFenceRunning {
      cutOffLocked(fence, .cancelled, cause, &outbox)
    }
  }

  private func cancelLocked(
    _ first: Chunk.Pointer?, _ cause: Cause, keepsSegments: Bool, _ outbox: inout Outbox
  ) {
    var next = first
    while let chunk = next {
      next = chunk.pointee.next
      chunk.pointee.next = nil
      cancelJobsLocked(chunk, cause, keepsSegments: keepsSegments, &outbox)
      // The graveyard keeps the jobs until a drainer destroys their contexts.
      var jobs = JobBuffer(head: chunk, tail: chunk)
      needExtra().pointee.backlog.graveyard.append(&jobs)
      pointee.machine.flags.insert(.hasDeliveries)
      // What stays keeps its order only if nobody appends in between.
      if keepsSegments && next != nil { continue }
      pointee.lock.unlock()
      outbox.dropOver()
      pointee.lock.lock()
    }
  }

  private func cancelJobsLocked(
    _ chunk: Chunk.Pointer, _ cause: Cause, keepsSegments: Bool, _ outbox: inout Outbox
  ) {
    let extra = needExtra()
    for position in Int(chunk.pointee.start)..<Int(chunk.pointee.count) {
      let job = chunk.jobs[position]
      guard let slot = job.slot else {
        if job.isTakenOut {
          extra.pointee.backlog.tombstones -= 1
          chunk.jobs[position] = Batch.dropTombstoneLocked(job)
          continue
        }
        pointee.pending -= 1
        if keepsSegments && job.isObstinate && appendLocked(job.askedToEnd, isOwed: true) {
          chunk.jobs[position] = Job(context: nil, destroy: nil)
        } else {
          job.markTakenOut()
          extra.pointee.ends.add(.cancelled)
        }
        continue
      }
      chunk.jobs[position] = Job(context: nil, destroy: nil)
      if slot.loadWord().contains(.segment) {
        pointee.pending -= 1
        if keepsSegments && appendBegunLocked(job, isOwed: true) {
          pointee.pending += 1
          continue
        }
        extra.pointee.backlog.segments -= 1
        // The context goes to the graveyard, which does not need the slot.
        chunk.jobs[position] = Job(
          context: slot.pointee.context, destroy: slot.pointee.destroy)
        outbox.dropReference(of: slot.segmentOperation)
        outbox.dropReference(of: slot)
        continue
      }
      if keepsSegments && slot.pointee.flags.contains(.obstinate)
        && !slot.loadWord().contains(.claimed) && appendLocked(job, isOwed: true)
      {
        // It was counted when it was first put in.
        pointee.pending -= 1
        _ = requestCancelLocked(slot, cause, &outbox)
        continue
      }
      // Drops the buffer's reference. For an operation that was cancelled before, that is all.
      cutOffLocked(slot, .cancelled, cause, &outbox)
      outbox.dropReference(of: slot)
      extra.pointee.backlog.tombstones -= 1
    }
  }
}
