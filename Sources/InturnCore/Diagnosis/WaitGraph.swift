/// Who waits for whom: the waits that are made from inside the library's callbacks.
///
/// A wait is refused when what it waits for cannot go on before the waiting thread does. A thread
/// that is inside no callback, and is not the only one that may drain an executor (the main thread
/// is; so is one that has attached it), holds nobody up: its waits are not looked at.
enum WaitGraph {
  enum Target {
    /// Everything of a queue.
    case queue(Lane.Pointer)
    /// The calls of a queue that are under way.
    case calls(of: Lane.Pointer)
    /// One operation, of which the waiter holds a reference.
    case operation(OperationSlot.Pointer)
    /// What a value's observers are to be done with.
    case observers(of: TrailBase, TrailWait)
  }

  /// One wait, as long as it lasts.
  struct Entry {
    fileprivate let id: UInt64
  }

  /// What the engine keeps of the waits.
  final class Storage: @unchecked Sendable {
    // Safe to share: `lock` protects the rest. Lanes' locks may be taken while it is held.

    fileprivate let lock = BriefLock()
    @exclusivity(unchecked) fileprivate var waits: [Wait] = []
    @exclusivity(unchecked) fileprivate var nextID: UInt64 = 1
  }

  fileprivate struct Wait {
    let id: UInt64
    /// The waiting thread's frames; they stay while it waits.
    let frames: CallFrame.Pointer
    let target: Target
  }

  /// Enters a wait. Nil, after a report that names the ring, when it could never end.
  static func enter(_ target: Target) -> Entry? {
    let storage = Engine.current.pointee.waits
    let frames = CallFrame.innermost
    storage.lock.lock()
    var search = Search(frames: frames, waits: storage.waits)
    let isRing = search.dependsOnCaller(target)
    var entry = Entry(id: 0)
    if !isRing, let frames {
      entry = Entry(id: storage.nextID)
      storage.nextID += 1
      storage.waits.append(Wait(id: entry.id, frames: frames, target: target))
    }
    storage.lock.unlock()
    for slot in search.held { slot.dropReference() }
    if isRing {
      search.report().send()
      return nil
    }
    return entry
  }

  static func leave(_ entry: Entry) {
    if entry.id == 0 { return }
    let storage = Engine.current.pointee.waits
    storage.lock.lock()
    storage.waits.removeAll { $0.id == entry.id }
    storage.lock.unlock()
  }

  /// A search from a target for the thread that is about to wait.
  private struct Search {
    let frames: CallFrame.Pointer?
    let waits: [Wait]
    /// The waits that are being followed, so that none is followed twice.
    var followed: Set<UInt64> = []
    /// The labels on the way, from the target on.
    var path: [String] = []
    /// References that the search has taken, to be given up after the lock.
    var held: [OperationSlot.Pointer] = []
    /// How many operations that others come after are looked at.
    static let reach = 1_000

    mutating func dependsOnCaller(_ target: Target) -> Bool {
      switch target {
      case .queue(let lane):
        let isHeldUp = follow(lane) {
          $0.isHeldUp(lane, by: { $0.lane == lane }, places: 1)
        }
        if isHeldUp { return true }
        path.append(lane.describedForReports)
        if isAnyHeldUp(lane.pendingWithPlans(upTo: Self.reach, &held)) { return true }
        path.removeLast()
        return false
      case .calls(of: let lane):
        return follow(lane) { $0.isHeldUp(by: { $0.lane == lane }, places: 1) }
      case .operation(let slot): return isAnyHeldUp([slot])
      case .observers(of: let trail, let what):
        path.append(trail.describedForReports)
        let isOf = { (frame: CallFrame) in frame.call?.isAwaited(by: what, of: trail) == true }
        if isHeldUp(by: isOf, places: 1) { return true }
        path.removeLast()
        return false
      }
    }

    /// Looks at these operations, and at those that they come after.
    private mutating func isAnyHeldUp(_ slots: [OperationSlot.Pointer]) -> Bool {
      var open = slots
      var seen = Set(slots)
      var count = 0
      while count < open.count {
        let slot = open[count]
        count += 1
        if isHeldUp(slot) { return true }
        for earlier in slot.lane.whatKeepsBack(slot, upTo: Self.reach, &held) {
          if open.count < Self.reach, seen.insert(earlier).inserted { open.append(earlier) }
        }
      }
      return false
    }

    private mutating func isHeldUp(_ slot: OperationSlot.Pointer) -> Bool {
      // Nothing waits for it any more, and its lane may be another one's.
      if slot.loadWord().isEnded { return false }
      let lane = slot.lane
      return follow(lane) {
        if !slot.loadWord().contains(.started) {
          if lane.needsAllBefore(slot) {
            return $0.isHeldUp(lane, by: { $0.isInPlace(of: lane) }, places: 1)
          }
          return $0.isHeldUp(lane, by: { $0.lane == lane }, places: lane.places)
        }
        // It runs: only a thread that is inside its work can hold it up.
        return $0.isHeldUp(by: { $0.operation == slot }, places: 1)
      }
    }

    private mutating func follow(
      _ lane: Lane.Pointer, _ isHeldUp: (inout Search) -> Bool
    ) -> Bool {
      path.append(lane.describedForReports)
      if isHeldUp(&self) { return true }
      path.removeLast()
      return false
    }

    /// Whether a lane cannot start anything, because so many of its places, or the threads that may
    /// drain its executor, are held up by the caller.
    private mutating func isHeldUp(
      _ lane: Lane.Pointer, by isOf: (CallFrame) -> Bool, places: UInt32
    ) -> Bool {
      isHeldUp(by: isOf, places: places) || isHostHeldUp(lane)
    }

    private mutating func isHostHeldUp(_ lane: Lane.Pointer) -> Bool {
      guard let host = lane.hostExecutor else { return false }
      if host.isDrainedByCallerAlone { return true }
      let identity = Unmanaged<Executor>.passUnretained(host).toOpaque()
      return isHeldUp(by: { $0.executor?.toOpaque() == identity }, places: host.places)
    }

    private mutating func isHeldUp(by isOf: (CallFrame) -> Bool, places: UInt32) -> Bool {
      var heldUp: UInt32 = Self.any(frames, isOf) ? 1 : 0
      if heldUp >= places { return true }
      for wait in waits where !followed.contains(wait.id) && Self.any(wait.frames, isOf) {
        followed.insert(wait.id)
        if dependsOnCaller(wait.target) {
          heldUp += 1
          if heldUp >= places { return true }
        }
      }
      return false
    }

    private static func any(_ frames: CallFrame.Pointer?, _ isOf: (CallFrame) -> Bool) -> Bool {
      var frame = frames
      while let current = frame {
        if isOf(current.pointee) { return true }
        frame = current.pointee.outer
      }
      return false
    }

    func report() -> Report {
      var caller = "the main thread"
      var frame = frames
      while let current = frame {
        if let lane = current.pointee.lane {
          caller = lane.describedForReports
          break
        }
        if let call = current.pointee.call {
          caller = call.trail._withUnsafeGuaranteedRef { $0.describedForReports }
          break
        }
        frame = current.pointee.outer
      }
      let names = path.last == caller ? [caller] + path : [caller] + path + [caller]
      return .deadlock(ring: names)
    }
  }
}

extension UnsafeMutablePointer<Lane> {
  /// How many operations must be held up before none can start.
  fileprivate var places: UInt32 {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    // The queue may be gone: then there is nothing that waits any more.
    guard pointee.machine.kind == .concurrent, let extra = pointee.extra else { return 1 }
    return extra.pointee.limit
  }

  /// Whether a pending operation is a barrier, or behind one: it starts when all before it is over.
  fileprivate func needsAllBefore(_ slot: OperationSlot.Pointer) -> Bool {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    return !slot.pointee.flags.isDisjoint(with: [.isFence, .isBehind])
  }

  /// The operations that have to end before a pending one starts: those that it comes after, and
  /// those that have its names, or will before it. Each with a reference in `held`.
  fileprivate func whatKeepsBack(
    _ slot: OperationSlot.Pointer, upTo limit: Int, _ held: inout [OperationSlot.Pointer]
  ) -> [OperationSlot.Pointer] {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    var result: [OperationSlot.Pointer] = []
    guard let plan = slot.plan, slot.loadWord().isPending else { return result }
    if let names = plan.pointee.names {
      Engine.current.pointee.names.addAhead(of: names, to: &result, upTo: limit)
      held += result
    }
    guard let edges = plan.pointee.edges else { return result }
    for edge in edges..<edges + plan.pointee.linkedCount where result.count < limit {
      guard let earlier = edge.pointee.earlier, earlier.tryAddReference() else { continue }
      held.append(earlier)
      // Else the slot is another one's by now.
      if earlier.firstGeneration == edge.pointee.earlierGeneration { result.append(earlier) }
    }
    return result
  }

  /// Pending operations that may have others to wait for, each with a reference in `held`.
  fileprivate func pendingWithPlans(
    upTo limit: Int, _ held: inout [OperationSlot.Pointer]
  ) -> [OperationSlot.Pointer] {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    stopBatchLocked()
    var result: [OperationSlot.Pointer] = []
    var count = 0
    func look(_ job: Job) -> Bool {
      count += 1
      if let slot = job.slot, slot.plan != nil, slot.loadWord().isPending {
        slot.addReference()
        held.append(slot)
        result.append(slot)
      }
      return count < limit
    }
    order?.forEach(look)
    _ = pointee.buffer.forEach(look)
    return result
  }

  fileprivate var hostExecutor: HostExecutor? {
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
