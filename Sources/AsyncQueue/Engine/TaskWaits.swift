internal import InturnCore

/// Who waits for which queue: the waits that are made from inside queues' operations.
///
/// A wait is refused when what it waits for cannot go on before the waiting operation has ended. A
/// task that is inside no operation holds nobody up; its waits are not looked at.
enum TaskWaits {
  /// One wait, as long as it lasts.
  struct Entry {
    fileprivate let id: UInt64
    fileprivate static let none = Entry(id: 0)
  }

  private struct Wait {
    let frame: Frame
    let target: Target
  }

  /// What a wait is for.
  enum Target {
    /// A turn in the queue.
    case turn(QueueCore)
    /// The end of all that is in the queue.
    case quiet(QueueCore)
    /// The end of an operation with a task of its own.
    case end(OwnedFrame)
  }

  private final class Storage: @unchecked Sendable {
    // Safe to share: `lock` protects the rest. Nothing is called while it is held.
    let lock = BriefLock()
    @exclusivity(unchecked) var waits: [UInt64: Wait] = [:]
    @exclusivity(unchecked) var nextID: UInt64 = 1
  }

  private static let storage = Storage()

  /// Enters a wait of the current task. Throws, after a report, when it could never end.
  static func enter(_ target: Target) throws(QueueError) -> Entry {
    guard let frame = Frame.current else { return .none }
    return try enter(target, of: frame)
  }

  /// Enters the wait of the current task for the end of another one, of this address. `isCancelled`
  /// says whether that one is cancelled.
  static func enter(
    endOf task: TaskAddress, isCancelled: @autoclosure () -> Bool
  ) throws(QueueError) -> Entry {
    guard let frame = Frame.current, let awaited = TaskTable.find(task) else { return .none }
    if awaited.isCancellable && isCancelled() { return .none }
    return try enter(.end(awaited), of: frame)
  }

  private static func enter(_ target: Target, of frame: Frame) throws(QueueError) -> Entry {
    storage.lock.lock()
    var search = Search(caller: frame, waits: storage.waits)
    let isRing = search.dependsOnCaller(target)
    var entry = Entry.none
    if !isRing {
      entry = Entry(id: storage.nextID)
      storage.nextID += 1
      storage.waits[entry.id] = Wait(frame: frame, target: target)
    }
    storage.lock.unlockAfterReadingObject()
    if !isRing { return entry }
    let report = Report.deadlock(ring: search.ring)
    report.send()
    guard case .end(let awaited) = target else { throw .deadlock(report.message) }
    throw .deadlock("\(report.message) The task that is awaited is of \(awaited.origin).")
  }

  static func leave(_ entry: Entry) {
    if entry.id == 0 { return }
    storage.lock.lock()
    let wait = storage.waits.removeValue(forKey: entry.id)
    storage.lock.unlockAfterReadingObject()
    withExtendedLifetime(wait) {}
  }

  /// A search from a target for the operation that is about to wait.
  private struct Search {
    let caller: Frame
    let waits: [UInt64: Wait]
    var followed: Set<UInt64> = []
    /// The queues on the way, from the target on.
    var path: [QueueCore] = []

    mutating func dependsOnCaller(_ target: Target) -> Bool {
      switch target {
      case .turn(let core):
        // Only an operation that runs holds others up, and on an actor not once it waits.
        if core.kind == .actor { return false }
        return dependsOnCaller(core, caller.isInside(core)) { $0.isInside(core) }
      case .quiet(let core):
        return dependsOnCaller(core, caller.isInside(core)) { $0.isInside(core) }
      case .end(let awaited):
        if awaited.hasEnded { return false }
        // In a FIFO queue, what runs is the awaited operation, or comes before it.
        let core = awaited.core
        if core.kind == .fifo { return dependsOnCaller(.turn(core)) }
        return dependsOnCaller(core, caller.isInside(awaited)) { $0.isInside(awaited) }
      }
    }

    /// Whether the caller holds the queue up himself, or somebody who waits for what depends on him.
    private mutating func dependsOnCaller(
      _ core: QueueCore, _ isHeldByCaller: Bool, isHeldBy: (Frame) -> Bool
    ) -> Bool {
      path.append(core)
      if isHeldByCaller { return true }
      for (id, wait) in waits where !followed.contains(id) && isHeldBy(wait.frame) {
        followed.insert(id)
        if dependsOnCaller(wait.target) { return true }
      }
      path.removeLast()
      return false
    }

    /// The queues' names, from the caller's own queue round to it.
    var ring: [String] {
      let last = path[path.count - 1].described
      return [last] + path.map(\.described)
    }
  }
}
