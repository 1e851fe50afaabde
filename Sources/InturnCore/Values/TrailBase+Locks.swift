/// Locking several trails at once.
extension TrailBase {
  /// Calls `body` while none of the trails can change. It must only copy, or stage a change of a
  /// trail that is in no other such call.
  package static func withLocks<Result>(_ trails: [TrailBase], _ body: () -> Result) -> Result {
    // In the same order everywhere, and each one once.
    var places = trails.indices.map {
      let address = UInt(bitPattern: Unmanaged.passUnretained(trails[$0]).toOpaque())
      return Keyed(UInt($0), by: UInt64(address))
    }
    Keyed.sort(&places)
    var locked: [TrailBase] = []
    for place in places where trails[Int(place.word)] !== locked.last {
      trails[Int(place.word)].lock.lock()
      locked.append(trails[Int(place.word)])
    }
    defer { for trail in locked { trail.lock.unlockAfterReadingObject() } }
    return body()
  }
}

extension Trail {
  /// The value, and the number of the change that made it; only inside `withLocks`.
  package var snapshotLocked: (value: Value, number: UInt64) { (stored, machine.number) }
}
