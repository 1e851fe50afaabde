/// Locking several trails at once.
extension TrailBase {
  /// Calls `body` while none of the trails can change. It must only copy, or stage a change of a
  /// trail that is in no other such call.
  package static func withLocks<Result>(_ trails: [TrailBase], _ body: () -> Result) -> Result {
    // In the same order everywhere, and each one once.
    let addresses = trails.map { UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) }
    let order = addresses.indices.sorted { addresses[$0] < addresses[$1] }
    var locked: [TrailBase] = []
    for place in order where trails[place] !== locked.last {
      trails[place].lock.lock()
      locked.append(trails[place])
    }
    defer { for trail in locked { trail.lock.unlockAfterReadingObject() } }
    return body()
  }
}

extension Trail {
  /// The value, and the number of the change that made it; only inside `withLocks`.
  package var snapshotLocked: (value: Value, number: UInt64) { (stored, machine.number) }
}
