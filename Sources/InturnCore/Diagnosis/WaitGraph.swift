/// Who waits for whom: the waits that are made from inside the library's callbacks.
///
/// A wait is refused when what it waits for cannot go on before the waiting thread does. A thread
/// that is inside no callback, and is not the main thread, holds nobody up: its waits are not
/// looked at.
enum WaitGraph {
  enum Target {
    /// Everything of a queue.
    case queue(Lane.Pointer)
    /// The calls of a queue that are under way.
    case calls(of: Lane.Pointer)
    /// One operation, of which the waiter holds a reference.
    case operation(OperationSlot.Pointer)
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
        return follow(lane) {
          $0.isHeldUp(lane, by: { $0.lane == lane }, places: 1)
        }
      case .calls(of: let lane):
        return follow(lane) { $0.isHeldUp(by: { $0.lane == lane }, places: 1) }
      case .operation(let slot):
        var open = [slot]
        var count = 0
        while count < open.count {
          let slot = open[count]
          count += 1
          if isHeldUp(slot) { return true }
          slot.lane.addUnmetDependencies(of: slot, to: &open, upTo: Self.reach, &held)
        }
        return false
      }
    }

    private mutating func isHeldUp(_ slot: OperationSlot.Pointer) -> Bool {
      let lane = slot.lane
      return follow(lane) {
        if !slot.loadWord().contains(.started) {
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

    /// Whether a lane cannot start anything, because so many of its places, or the one thread that
    /// drains its executor, are held up by the caller.
    private mutating func isHeldUp(
      _ lane: Lane.Pointer, by isOf: (CallFrame) -> Bool, places: UInt32
    ) -> Bool {
      isHeldUp(by: isOf, places: places) || isHostHeldUp(lane)
    }

    private mutating func isHostHeldUp(_ lane: Lane.Pointer) -> Bool {
      guard let host = lane.hostExecutor else { return false }
      if host.isMainExecutorOnItsThread { return true }
      let identity = Unmanaged<Executor>.passUnretained(host).toOpaque()
      return isHeldUp(by: { $0.executor?.toOpaque() == identity }, places: 1)
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
    return pointee.machine.kind == .concurrent ? view.limit : 1
  }

  /// Adds the operations that a pending one comes after and that have not ended. `held` gets those
  /// of which a reference was taken.
  fileprivate func addUnmetDependencies(
    of slot: OperationSlot.Pointer, to open: inout [OperationSlot.Pointer], upTo limit: Int,
    _ held: inout [OperationSlot.Pointer]
  ) {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    guard let plan = slot.plan, let edges = plan.pointee.edges, plan.pointee.blockers > 0
    else { return }
    for edge in edges..<edges + plan.pointee.linkedCount where open.count < limit {
      guard let earlier = edge.pointee.earlier, earlier.tryAddReference() else { continue }
      held.append(earlier)
      if earlier.loadWord().generation == edge.pointee.earlierGeneration { open.append(earlier) }
    }
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
