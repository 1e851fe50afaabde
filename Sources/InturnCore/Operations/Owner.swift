/// A group of operations that are cancelled when their owner is destroyed, and whose number may be
/// limited.
package final class Owner: @unchecked Sendable {
  // Safe to share: `lock` protects the rest, and the links of the operations in its list.

  /// Taken while a lane's lock is held, never the other way round.
  private let lock = BriefLock()
  @exclusivity(unchecked) private var newest: OperationSlot.Pointer?
  @exclusivity(unchecked) private var oldest: OperationSlot.Pointer?
  /// After `goAway` has begun: the next operation to cancel.
  @exclusivity(unchecked) private var next: OperationSlot.Pointer?
  @exclusivity(unchecked) private var count: UInt64 = 0
  @exclusivity(unchecked) private var isGone = false
  /// 0 for no limit.
  private let capacity: UInt64

  /// Set before the owner is shared.
  @exclusivity(unchecked) var handle = Handle(bits: 0)

  init(capacity: UInt64) { self.capacity = capacity }

  /// Adds an operation that is being accepted and that has details.
  func add(_ slot: OperationSlot.Pointer) -> Status {
    lock.lock()
    defer { lock.unlock() }
    if isGone { return .stale }
    if capacity > 0 && count >= capacity { return .full }
    let groups = slot.groups!
    groups.pointee.ownedBefore = nil
    groups.pointee.ownedAfter = newest
    if let newest { newest.groups!.pointee.ownedBefore = slot } else { oldest = slot }
    newest = slot
    count += 1
    return .ok
  }

  /// Removes an operation that has ended.
  func remove(_ slot: OperationSlot.Pointer) {
    lock.lock()
    defer { lock.unlock() }
    let groups = slot.groups!
    let (before, after) = (groups.pointee.ownedBefore, groups.pointee.ownedAfter)
    if let before { before.groups!.pointee.ownedAfter = after } else { newest = after }
    if let after { after.groups!.pointee.ownedBefore = before } else { oldest = before }
    if next == slot { next = before }
    count -= 1
  }

  /// Cancels all operations that have not ended, and refuses new ones: first those that have not
  /// started, as a started one that gives in at once makes room for them; each in the order in which
  /// they came.
  func goAway() {
    lock.lock()
    isGone = true
    cancelLocked { $0.loadWord().isPending }
    cancelLocked { _ in true }
    lock.unlock()
  }

  private func cancelLocked(_ isMeant: (OperationSlot.Pointer) -> Bool) {
    var passed = 0
    next = oldest
    while let slot = next {
      next = slot.groups!.pointee.ownedBefore
      if !isMeant(slot) {
        passed += 1
        // The lock is never held for long.
        if passed % 1024 == 0 {
          lock.unlock()
          lock.lock()
        }
        continue
      }
      // It is in the list, so it has not ended and the engine holds a reference.
      slot.addReference()
      lock.unlock()
      _ = slot.lane.cancel(slot, cause: .owner)
      slot.dropReference()
      lock.lock()
    }
  }

  /// How many of its operations have not ended.
  package var operations: UInt64 { lock.withLock { count } }
}
