/// Who waits for which queue: the waits that tasks make inside queues' operations.
///
/// A wait is refused when it could never end. A task that is inside no operation holds nobody up;
/// its waits are not looked at. The waits of threads are `WaitGraph`'s.
package enum TaskWaitGraph {
  package typealias Holder = TaskWaitSearch.Holder
  package typealias Need = TaskWaitSearch.Need

  /// One wait, as long as it lasts.
  package struct Entry {
    fileprivate let id: UInt64
    package static let none = Entry(id: 0)
  }

  /// Why a wait is refused: it has been reported.
  package struct Deadlock: Error {
    package let message: String
  }

  private struct Wait {
    /// The operations that it is inside of, which keep their places meanwhile.
    let holders: () -> [Holder]
    /// Without what it cannot end, as things are. What it looks at on the way is kept until after the
    /// lock.
    let needs: (_ kept: inout [AnyObject]) -> [Need]
  }

  private final class Storage: @unchecked Sendable {
    // Safe to share: `lock` protects the rest. Operations' and lanes' locks may be taken while it is
    // held; no user code is called, and no object let go of.
    let lock = BriefLock()
    @exclusivity(unchecked) var waits: [UInt64: Wait] = [:]
    @exclusivity(unchecked) var nextID: UInt64 = 1
  }

  private static let storage = Storage()

  /// Enters a wait, unless it could never end. Both closures are called under a lock, as long as the
  /// wait lasts; they look, and do nothing else.
  ///
  /// As all waits are entered under one lock, it is the last one of a ring that finds it. It looks
  /// at those of the waits that it depends on, and at each of these once.
  package static func enter(
    inside holders: @escaping () -> [Holder], needing needs: @escaping (inout [AnyObject]) -> [Need]
  ) throws(Deadlock) -> Entry {
    let wait = Wait(holders: holders, needs: needs)
    var kept: [AnyObject] = []
    storage.lock.lock()
    let ring = TaskWaitSearch.ring(of: connectedLocked(wait, &kept))
    var entry = Entry.none
    if ring == nil {
      entry = Entry(id: storage.nextID)
      storage.nextID += 1
      storage.waits[entry.id] = wait
    }
    storage.lock.unlockAfterReadingObject()
    withExtendedLifetime(kept) {}
    guard let ring else { return entry }
    let names = ring.map { Engine.describe(queue: $0) }
    let report = Report.deadlock(ring: [names[names.count - 1]] + names)
    report.send()
    throw Deadlock(message: report.message)
  }

  package static func leave(_ entry: Entry) {
    if entry.id == 0 { return }
    storage.lock.lock()
    let wait = storage.waits.removeValue(forKey: entry.id)
    storage.lock.unlockAfterReadingObject()
    withExtendedLifetime(wait) {}
  }

  /// The wait, and all that it may depend on.
  private static func connectedLocked(
    _ first: Wait, _ kept: inout [AnyObject]
  ) -> [TaskWaitSearch.Wait] {
    var found = [TaskWaitSearch.Wait(holders: first.holders(), needs: first.needs(&kept))]
    var rest = storage.waits.values.map { (wait: $0, holders: $0.holders()) }
    var queues = Set<Handle>()
    var next = 0
    while next < found.count && !rest.isEmpty {
      let new = found[next].needs.map { $0.queue }.filter { queues.insert($0).inserted }
      next += 1
      if new.isEmpty { continue }
      var others: [(wait: Wait, holders: [Holder])] = []
      for (wait, holders) in rest {
        if holders.contains(where: { new.contains($0.queue) }) {
          found.append(TaskWaitSearch.Wait(holders: holders, needs: wait.needs(&kept)))
        } else {
          others.append((wait, holders))
        }
      }
      rest = others
    }
    return found
  }
}
