import CInturnSystem

/// Visits every object, a piece at a time: entries are copied under a lock into room on the caller's
/// stack, and passed on without a lock.
extension Engine {
  /// Calls `visit` with each entry, until it returns false.
  package static func snapshot(_ visit: (SnapshotEntry) -> Bool) {
    withoutActuallyEscaping(visit) { visit in
      var walk = Walk(visit: visit)
      withUnsafeMutablePointer(to: &walk) {
        inturn_system_with_room(
          { walk, memory, size in
            walk.assumingMemoryBound(to: Walk.self).pointee.run(in: memory, byteCount: Int(size))
          }, $0)
      }
    }
  }

  private struct Walk {
    let visit: (SnapshotEntry) -> Bool

    func run(in memory: UnsafeMutableRawPointer, byteCount: Int) {
      var room = SnapshotRoom(memory, byteCount: byteCount, visit)
      _ = tellObjects(&room) && tellWaits(&room) && tellQueues(&room)
    }

    // MARK: Objects

    private static var slabs: Int { 4 }

    /// Sets `entry` if the place of the slab is in use. False past its end.
    private func isThere(
      _ objects: EngineObjects, _ slab: Int, _ place: Int, _ entry: inout SnapshotEntry?
    ) -> Bool {
      func look<Object>(
        _ slab: borrowing ObjectSlab<Object>, _ kind: SnapshotEntry.Kind,
        _ describe: (Object, inout SnapshotEntry) -> Void
      ) -> Bool {
        let givenOut = slab.givenOut
        if place >= givenOut.count { return false }
        guard let (handle, object) = slab.object(at: givenOut.lowerBound + UInt32(place))
        else { return true }
        var found = SnapshotEntry(kind)
        found.id = handle
        describe(object, &found)
        entry = found
        return true
      }
      switch slab {
      case 0: return look(objects.executors, .executor) { $0.describe(&$1) }
      case 1: return look(objects.clocks, .clock) { $0.describe(&$1) }
      case 2: return look(objects.owners, .owner) { $1.count = $0.operations }
      default: return look(objects.batches, .batch) { $0.describe(&$1) }
      }
    }

    private func tellObjects(_ room: inout SnapshotRoom) -> Bool {
      var system = SnapshotEntry(.clock)
      Engine.current.pointee.systemClock.describe(&system)
      room.add(system)
      var slab = 0
      var place = 0
      while slab < Self.slabs {
        Engine.withObjects { objects in
          // A limit on places, as most may be empty.
          var looks = 4096
          while slab < Self.slabs && room.free > 0 && looks > 0 {
            looks -= 1
            var entry: SnapshotEntry?
            if isThere(objects, slab, place, &entry) {
              place += 1
            } else {
              (slab, place) = (slab + 1, 0)
            }
            if let entry { room.add(entry) }
          }
        }
        if !room.tell() { return false }
      }
      return true
    }

    // MARK: Waits

    private func tellWaits(_ room: inout SnapshotRoom) -> Bool {
      var number: UInt64 = 0
      while let wait = WaitGraph.next(after: number) {
        number = wait.number
        if let entry = wait.entry {
          room.add(entry)
          if !room.tell() { return false }
        }
      }
      for line in WaitGraph.lines {
        for wait in WaitGraph.tasks(in: line) {
          if let entry = wait.entry { room.add(entry) }
          if !room.tell() { return false }
        }
      }
      return true
    }

    // MARK: Queues

    private func tellQueues(_ room: inout SnapshotRoom) -> Bool {
      let lanes = Engine.current
      for index in lanes.pointee.lanes.givenOut {
        guard let lane = lanes.pointee.lanes.pointer(at: index) else { continue }
        var place = LanePlace()
        var goesOn = true
        while goesOn {
          goesOn = lane.addPiece(&room, &place, index: index)
          if !room.tell() { return false }
        }
      }
      return true
    }
  }
}

extension Executor {
  fileprivate func describe(_ entry: inout SnapshotEntry) {
    entry.setLabel(label)
    entry.count = lock.withLock { UInt64(ring.count) }
    if let pool = self as? WorkerPool {
      entry.flags.insert(.pool)
      entry.running = UInt64(pool.threadCount)
    }
    if let host = self as? HostExecutor {
      if host.isMain { entry.flags.insert(.main) }
      entry.running = UInt64(host.drainerCount)
    }
  }
}

extension Clock {
  fileprivate func describe(_ entry: inout SnapshotEntry) {
    if isManual { entry.flags.insert(.manual) }
    entry.moment = now
    entry.count = UInt64(armed)
  }
}

extension Batch {
  fileprivate func describe(_ entry: inout SnapshotEntry) {
    entry.setLabel(labelForReports)
    entry.queue = queue
    entry.ended = UInt64(ended)
    entry.count = UInt64(count)
  }

  /// The batch of a job, if it is one of a batch's operations; else null.
  static func handle(of destroy: RawDestroy?, _ context: UnsafeMutableRawPointer?) -> Handle {
    of(destroy, context)?._withUnsafeGuaranteedRef { $0.handle } ?? Handle(bits: 0)
  }

  /// Whether somebody waits for the batch of a job.
  static func isAwaited(_ destroy: RawDestroy?, _ context: UnsafeMutableRawPointer?) -> Bool {
    of(destroy, context)?._withUnsafeGuaranteedRef { $0.isAwaited } ?? false
  }

  /// An operation of the same batch that has to end first, with a reference, as far as a short look can
  /// tell.
  static func earlierLocked(of slot: OperationSlot.Pointer) -> OperationSlot.Pointer? {
    entry(slot.pointee.destroy, slot.pointee.context).flatMap { entry in
      entry.pointee.batch._withUnsafeGuaranteedRef { $0.earlierLocked(of: entry) }
    }
  }

  /// Whether a job without a slot is one of its operations. The caller has the lane's lock.
  func isOf(_ job: Job) -> Bool {
    if Self.of(job.destroy, job.context)?.toOpaque() == Unmanaged.passUnretained(self).toOpaque() {
      return true
    }
    return job.context == Unmanaged.passUnretained(self).toOpaque()
  }

  /// The caller has the lane's lock, so no entry can go away.
  @inline(never)
  private static func of(
    _ destroy: RawDestroy?, _ context: UnsafeMutableRawPointer?
  ) -> Unmanaged<Batch>? {
    entry(destroy, context)?.pointee.batch
  }
}

extension WaitGraph.Wait {
  /// Nil if the wait is over.
  fileprivate var entry: SnapshotEntry? {
    var entry = SnapshotEntry(.wait)
    entry.id = Handle(bits: UInt64(thread))
    entry.site = site
    if isOnMainThread { entry.flags.insert(.main) }
    if let frame = frames.first(where: { $0.lane != nil }) {
      entry.other = frame.lane.unsafelyUnwrapped.handleNow
    }
    switch target {
    case .queue(let lane), .calls(of: let lane): entry.queue = lane.handleNow
    case .operation:
      guard let handle = WaitGraph.handle(of: self) else { return nil }
      entry.operation = handle
    case .observers(of: let trail, _): entry.setLabel(trail.label)
    case .needs:
      let (holders, needs) = WaitGraph.state(of: self)
      entry.other = Lane.Pointer(bitPattern: holders.first?.lane ?? 0)?.handleNow ?? entry.other
      switch needs.first {
      case .operation(let handle): entry.operation = handle
      case .place(in: let queue, outOf: _), .quiet(let queue): entry.queue = queue
      case .batch(let handle): entry.queue = Engine.batch(handle).1?.queue ?? Handle(bits: 0)
      case .end(of: let holder): entry.queue = Lane.Pointer(bitPattern: holder.lane)!.handleNow
      case nil: break
      }
    }
    return WaitGraph.isThere(self) ? entry : nil
  }
}

extension UnsafeMutablePointer<Lane> {
  fileprivate var handleNow: Handle {
    pointee.lock.lock()
    let generation = isGoneLocked ? 0 : pointee.generation
    pointee.lock.unlock()
    guard generation > 0, let index = Engine.current.pointee.lanes.index(of: self)
    else { return Handle(bits: 0) }
    return Handle(.queue, index: index, generation: generation)
  }
}
