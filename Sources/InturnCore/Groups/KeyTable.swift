/// The operations of a lane by their keys. The lane's lock protects it.
///
/// Those of one key are linked in the order of their enqueues, whatever has become of them, until
/// they end; so each of them is found, and left out, at a price that does not depend on the others.
final class KeyTable: @unchecked Sendable {
  // Safe to share: as above.

  /// An object, as a dictionary of structs of such pointers gives wrong answers: the compiler and
  /// the run-time library do not agree on how its "none" looks.
  private final class Line {
    var first: OperationSlot.Pointer?
    var last: OperationSlot.Pointer?
  }

  /// Some of the lines are empty. Taking a key out of a large dictionary costs several times what
  /// putting it in does, so that it is done for many at a time.
  @exclusivity(unchecked) private var lines: [Bytes: Line] = [:]
  @exclusivity(unchecked) private var emptyCount = 0
  private var keptLines: Int { 64 }

  /// A way along a line from its end to its beginning, on which the lock is given up: what comes to
  /// the line meanwhile is not on it.
  final class Walk {
    var next: OperationSlot.Pointer?
  }
  @exclusivity(unchecked) private var walks: [Walk] = []

  func first(_ key: Bytes) -> OperationSlot.Pointer? { lines[key]?.first }

  func append(_ slot: OperationSlot.Pointer, key: Bytes) {
    let links = slot.groups!
    let line: Line
    if let found = lines[key] {
      line = found
      if line.first == nil { emptyCount -= 1 }
    } else {
      line = Line()
      lines[key] = line
    }
    links.pointee.sameKeyAfter = nil
    links.pointee.sameKeyBefore = line.last
    if let last = line.last { last.groups!.pointee.sameKeyAfter = slot } else { line.first = slot }
    line.last = slot
  }

  func remove(_ slot: OperationSlot.Pointer, key: Bytes) {
    let links = slot.groups!
    let (before, after) = (links.pointee.sameKeyBefore, links.pointee.sameKeyAfter)
    for walk in walks where walk.next == slot { walk.next = before }
    if let before { before.groups!.pointee.sameKeyAfter = after }
    if let after { after.groups!.pointee.sameKeyBefore = before }
    if before != nil && after != nil { return }
    let line = lines[key].unsafelyUnwrapped
    if before == nil { line.first = after }
    if after == nil { line.last = before }
    if line.first == nil { noteEmpty() }
  }

  private func noteEmpty() {
    emptyCount += 1
    if emptyCount <= keptLines || 2 * emptyCount <= lines.count { return }
    lines = lines.filter { $0.value.first != nil }
    emptyCount = 0
  }

  func last(_ key: Bytes) -> OperationSlot.Pointer? { lines[key]?.last }

  func begin(_ walk: Walk) { walks.append(walk) }

  func end(_ walk: Walk) { walks.removeAll { $0 === walk } }
}
