/// The operations of a lane by their keys. The lane's lock protects it.
///
/// Those of one key are linked in the order of their enqueues, whatever has become of them, until
/// they end; so each of them is found, and left out, at a price that does not depend on the others.
final class KeyTable: @unchecked Sendable {
  // Safe to share: as above.

  /// An object, as a dictionary of structs of such pointers gives wrong answers: the compiler and
  /// the run-time library do not agree on how its "none" looks.
  private final class Line {
    var first: OperationSlot.Pointer
    var last: OperationSlot.Pointer

    init(_ only: OperationSlot.Pointer) {
      first = only
      last = only
    }
  }

  @exclusivity(unchecked) private var lines: [String: Line] = [:]

  func first(_ key: String) -> OperationSlot.Pointer? { lines[key]?.first }

  func append(_ slot: OperationSlot.Pointer, key: String) {
    let links = slot.groups!
    links.pointee.sameKeyAfter = nil
    guard let line = lines[key] else {
      links.pointee.sameKeyBefore = nil
      lines[key] = Line(slot)
      return
    }
    links.pointee.sameKeyBefore = line.last
    line.last.groups!.pointee.sameKeyAfter = slot
    line.last = slot
  }

  func remove(_ slot: OperationSlot.Pointer, key: String) {
    let links = slot.groups!
    let (before, after) = (links.pointee.sameKeyBefore, links.pointee.sameKeyAfter)
    if let before { before.groups!.pointee.sameKeyAfter = after }
    if let after { after.groups!.pointee.sameKeyBefore = before }
    if before == nil && after == nil {
      lines[key] = nil
    } else if before == nil {
      lines[key]!.first = after!
    } else if after == nil {
      lines[key]!.last = before!
    }
  }

  /// The operations of a key, in order, each with a reference.
  func all(_ key: String) -> [OperationSlot.Pointer] {
    var slots: [OperationSlot.Pointer] = []
    var next = lines[key]?.first
    while let slot = next {
      next = slot.groups!.pointee.sameKeyAfter
      slot.addReference()
      slots.append(slot)
    }
    return slots
  }
}
