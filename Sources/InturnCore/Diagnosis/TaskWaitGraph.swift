/// Who waits for which queue: the waits that tasks make inside queues' operations.
///
/// A wait is refused if it could never end. A task outside of operations blocks nobody, so its waits
/// are not looked at. `WaitGraph` has the waits of threads.
package enum TaskWaitGraph {
  package typealias Holder = TaskWaitSearch.Holder
  package typealias Need = TaskWaitSearch.Need

  /// One wait, for as long as it lasts.
  package struct Entry {
    fileprivate let id: UInt64
    package static let none = Entry(id: 0)
  }

  /// Why a wait is refused; it has been reported.
  package struct Deadlock: Error {
    package let message: String
  }

  private struct Wait {
    /// The queues of its holders, and of its needs, when it began; null for what is in no queue yet.
    let queues: Set<Handle>
    let needed: Set<Handle>
    /// The operations that it is inside of and that keep their places meanwhile; never more than when
    /// it began.
    let holders: () -> [Holder]
    /// What the wait needs in order to end, at this moment. Objects that it looks at are kept alive
    /// until the lock is released.
    let needs: (_ kept: inout [AnyObject]) -> [Need]
  }

  private final class Storage: @unchecked Sendable {
    // Safe to share: `lock` protects the rest. Operations' and lanes' locks may be taken while it is
    // held; no user code is called, and no object is released.
    let lock = BriefLock()
    @exclusivity(unchecked) var waits: [UInt64: Wait] = [:]
    /// The waits by the queues that they hold up, and by those that they need.
    @exclusivity(unchecked) var inside: [Handle: Set<UInt64>] = [:]
    @exclusivity(unchecked) var needing: [Handle: Set<UInt64>] = [:]
    @exclusivity(unchecked) var nextID: UInt64 = 1
  }

  private static let storage = Storage()

  /// Enters a wait, unless it could never end. Both closures are called under a lock for as long as the
  /// wait lasts; they only read.
  ///
  /// As all waits are entered under one lock, the last wait of a ring finds it. If nobody needs what
  /// the wait holds up, there is no ring; otherwise it looks once at each of the waits that it depends
  /// on.
  package static func enter(
    inside holders: @escaping () -> [Holder], needing needs: @escaping (inout [AnyObject]) -> [Need]
  ) throws(Deadlock) -> Entry {
    var kept: [AnyObject] = []
    storage.lock.lock()
    let wait = Wait(
      queues: Set(holders().map { $0.queue }), needed: Set(needs(&kept).map { $0.queue }),
      holders: holders, needs: needs)
    let isNeeded =
      storage.needing[Handle(bits: 0)] != nil
      || wait.queues.contains { wait.needed.contains($0) || storage.needing[$0] != nil }
    let ring = isNeeded ? TaskWaitSearch.ring(of: connectedLocked(wait, &kept)) : nil
    var entry = Entry.none
    if ring == nil {
      entry = Entry(id: storage.nextID)
      storage.nextID += 1
      storage.waits[entry.id] = wait
      for queue in wait.queues { storage.inside[queue, default: []].insert(entry.id) }
      for queue in wait.needed { storage.needing[queue, default: []].insert(entry.id) }
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
    let wait = storage.waits.removeValue(forKey: entry.id).unsafelyUnwrapped
    for queue in wait.queues { remove(entry, from: &storage.inside[queue]) }
    for queue in wait.needed { remove(entry, from: &storage.needing[queue]) }
    storage.lock.unlockAfterReadingObject()
    withExtendedLifetime(wait) {}
  }

  private static func remove(_ entry: Entry, from waits: inout Set<UInt64>?) {
    waits?.remove(entry.id)
    if waits?.isEmpty == true { waits = nil }
  }

  /// The wait and all waits that it may depend on.
  private static func connectedLocked(
    _ first: Wait, _ kept: inout [AnyObject]
  ) -> [TaskWaitSearch.Wait] {
    var found: [TaskWaitSearch.Wait] = []
    func add(_ wait: Wait) {
      found.append(TaskWaitSearch.Wait(holders: wait.holders(), needs: wait.needs(&kept)))
    }
    add(first)
    var queues = Set<Handle>()
    var seen = Set<UInt64>()
    var next = 0
    while next < found.count {
      for need in found[next].needs where queues.insert(need.queue).inserted {
        for id in storage.inside[need.queue] ?? [] where seen.insert(id).inserted {
          add(storage.waits[id].unsafelyUnwrapped)
        }
      }
      next += 1
    }
    return found
  }
}
