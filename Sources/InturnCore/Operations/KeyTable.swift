/// The operations of a lane by their keys. The lane's lock protects it.
///
/// Operations with the same key are linked in enqueue order until they end, whatever their state.
/// So finding or removing one costs the same however many others there are.
final class KeyTable: @unchecked Sendable {
  // Safe to share: as above.

  private struct Line: HashNode {
    /// The first operation's own copy.
    var key: HashedBytes
    var nextInBucket: UnsafeMutablePointer<Line>?
    var first: OperationSlot.Pointer?
    var last: OperationSlot.Pointer?
  }

  /// No line is empty.
  @exclusivity(unchecked) private var lines = HashTable<Line>()

  /// A walk along a line from its end to its beginning, during which the lock is released.
  /// Operations that are added meanwhile are not visited.
  final class Walk {
    var next: OperationSlot.Pointer?
  }
  @exclusivity(unchecked) private var walks: [Walk] = []

  func first(_ key: Bytes) -> OperationSlot.Pointer? { lines.find(HashedBytes(key))?.pointee.first }

  @_optimize(speed)
  func append(_ slot: OperationSlot.Pointer, key: Bytes) {
    let links = slot.groups!
    let key = HashedBytes(key)
    let line = lines.find(key) ?? addLine(key)
    links.pointee.sameKeyAfter = nil
    links.pointee.sameKeyBefore = line.pointee.last
    if let last = line.pointee.last {
      last.groups!.pointee.sameKeyAfter = slot
    } else {
      line.pointee.first = slot
    }
    line.pointee.last = slot
  }

  private func addLine(_ key: HashedBytes) -> UnsafeMutablePointer<Line> {
    let line = UnsafeMutablePointer<Line>.allocate(capacity: 1)
    line.initialize(to: Line(key: key))
    lines.insert(line)
    return line
  }

  @_optimize(speed)
  func remove(_ slot: OperationSlot.Pointer, key: Bytes) {
    let links = slot.groups!
    let (before, after) = (links.pointee.sameKeyBefore, links.pointee.sameKeyAfter)
    for walk in walks where walk.next == slot { walk.next = before }
    if let before { before.groups!.pointee.sameKeyAfter = after }
    if let after { after.groups!.pointee.sameKeyBefore = before }
    if before != nil && after != nil { return }
    let line = lines.find(HashedBytes(key)).unsafelyUnwrapped
    if after == nil { line.pointee.last = before }
    if before != nil { return }
    line.pointee.first = after
    if let after {
      line.pointee.key.bytes = after.groups!.pointee.key.unsafelyUnwrapped
      return
    }
    lines.remove(line)
    line.deallocate()
  }

  func last(_ key: Bytes) -> OperationSlot.Pointer? { lines.find(HashedBytes(key))?.pointee.last }

  func begin(_ walk: Walk) { walks.append(walk) }

  func end(_ walk: Walk) { walks.removeAll { $0 === walk } }
}
