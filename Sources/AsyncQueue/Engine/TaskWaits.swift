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
    let target: QueueCore
    /// Whether it waits for all of the target, or for a turn.
    let isForAll: Bool
  }

  private final class Storage: @unchecked Sendable {
    // Safe to share: `lock` protects the rest. Nothing is called while it is held.
    let lock = BriefLock()
    @exclusivity(unchecked) var waits: [UInt64: Wait] = [:]
    @exclusivity(unchecked) var nextID: UInt64 = 1
  }

  private static let storage = Storage()

  /// Enters a wait of the current task. Throws, after a report, when it could never end.
  static func enter(_ target: QueueCore, forAll: Bool = false) throws(QueueError) -> Entry {
    guard let frame = Frame.current else { return .none }
    storage.lock.lock()
    var search = Search(caller: frame, waits: storage.waits)
    let isRing = search.dependsOnCaller(target, forAll: forAll)
    var entry = Entry.none
    if !isRing {
      entry = Entry(id: storage.nextID)
      storage.nextID += 1
      storage.waits[entry.id] = Wait(frame: frame, target: target, isForAll: forAll)
    }
    storage.lock.unlockAfterReadingObject()
    if !isRing { return entry }
    let report = Report.deadlock(ring: search.ring)
    report.send()
    throw .deadlock(report.message)
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

    mutating func dependsOnCaller(_ target: QueueCore, forAll: Bool) -> Bool {
      // Only an operation that runs holds others up, and on an actor not once it waits.
      if target.kind == .actor && !forAll { return false }
      path.append(target)
      if caller.isInside(target) { return true }
      for (id, wait) in waits where !followed.contains(id) && wait.frame.isInside(target) {
        followed.insert(id)
        if dependsOnCaller(wait.target, forAll: wait.isForAll) { return true }
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
