/// The lanes that a task's wait needs something of, found by a short look: enough to tell that nobody
/// who came before needs what it holds, without a search.
struct NeededLanes {
  /// Nil if there are many, or if that may change while the task waits.
  private(set) var all: [UInt]? = []
  /// The operations to look at; each is looked at once, and there is a reference to each.
  private var slots: [OperationSlot.Pointer] = []
  private var strays: [OperationSlot.Pointer] = []

  private static var mostSlots: Int { 32 }

  init(of wait: WaitGraph.Wait, reach: Int) {
    for need in WaitGraph.state(of: wait).needs {
      switch need {
      case .end(of: let holder): add(holder.lane)
      case .place(in: let queue, outOf: _): add(UInt(bitPattern: Engine.lane(queue)))
      case .operation(let id):
        // Its place in a queue may still be to come.
        if id.bits == 0 { all = nil }
        if let slot = OperationSlot.Pointer.find(told: id).1 { slots.append(slot) }
      // Also what is still to come.
      case .quiet, .batch: all = nil
      }
    }
    var next = 0
    while all != nil && next < slots.count {
      look(at: slots[next], reach)
      next += 1
      if slots.count > Self.mostSlots { all = nil }
    }
    for slot in slots { slot.dropReference() }
    for slot in strays { slot.dropReference() }
  }

  private mutating func look(at slot: OperationSlot.Pointer, _ reach: Int) {
    let lane = slot.lane
    var earlier: [OperationSlot.Pointer] = []
    switch lane.whatKeepsBack(slot, &earlier, strays: &strays, reach: reach) {
    case .nothing, .others: break
    case .itsWork: add(UInt(bitPattern: lane))
    case .turn(_, _, let isOpen):
      add(UInt(bitPattern: lane))
      if isOpen { all = nil }
    }
    for other in earlier {
      if slots.contains(other) { strays.append(other) } else { slots.append(other) }
    }
  }

  private mutating func add(_ lane: UInt) {
    if all?.contains(lane) == false { all?.append(lane) }
  }
}
