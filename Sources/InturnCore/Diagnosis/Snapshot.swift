import CInturnSystem

/// Tells everything that there is, a piece at a time: under a lock it is only copied, into room on the
/// caller's stack, and told without one.
extension Engine {
  /// Calls `visit` with each, until that says that it is enough.
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

    /// Adds what there is at places from the first on, until there is no more room; true at the end.
    private func add<Object>(
      from place: inout Int, of table: borrowing ObjectTable<Object>, _ room: inout SnapshotRoom,
      _ kind: SnapshotEntry.Kind, _ describe: (Object, inout SnapshotEntry) -> Void
    ) -> Bool {
      while place < table.room {
        if room.free == 0 { return false }
        if let (handle, object) = table.object(at: place) {
          var entry = SnapshotEntry(kind)
          entry.id = handle
          describe(object, &entry)
          room.add(entry)
        }
        place += 1
      }
      return true
    }

    private func tellObjects(_ room: inout SnapshotRoom) -> Bool {
      var system = SnapshotEntry(.clock)
      Engine.current.pointee.systemClock.describe(&system)
      room.add(system)
      var stage = 0
      var place = 0
      while stage < 4 {
        let isThrough = Engine.withObjects { objects in
          switch stage {
          case 0:
            add(from: &place, of: objects.executors, &room, .executor) { $0.describe(&$1) }
          case 1: add(from: &place, of: objects.clocks, &room, .clock) { $0.describe(&$1) }
          case 2: add(from: &place, of: objects.owners, &room, .owner) { $1.count = $0.operations }
          default: add(from: &place, of: objects.batches, &room, .batch) { $0.describe(&$1) }
          }
        }
        if isThrough { (stage, place) = (stage + 1, 0) }
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

  /// The batch of a job that is one of its operations; null of others.
  static func handle(of destroy: RawDestroy?, _ context: UnsafeMutableRawPointer?) -> Handle {
    guard let destroy, isDestroy(destroy), let context else { return Handle(bits: 0) }
    return context.assumingMemoryBound(to: BatchEntry.self).pointee.batch
      ._withUnsafeGuaranteedRef { $0.handle }
  }
}

extension WaitGraph.Wait {
  /// Nil when it is over.
  fileprivate var entry: SnapshotEntry? {
    var entry = SnapshotEntry(.wait)
    entry.id = Handle(bits: UInt64(thread))
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
