/// What is decided under a lane's lock and done once it is given up: who is told of ends and names,
/// whose handlers are called, what is let go of, which states are told.
///
/// Each who takes the lock has an outbox of its own and gives it back with the lock: see
/// `Lane.unlock`. What is in it needs no memory but the states: all are lists through what they name.
struct Outbox {
  /// Operations whose handlers are to be handed to the executor, with a reference of each.
  private var firstNotice: OperationSlot.Pointer?
  /// Who is to be told that an operation has ended, or that it has its names.
  private var firstEdge: Edge.Pointer?
  private var lastEdge: Edge.Pointer?
  /// Operations that have ended, and more have joined them than were ended with them at once.
  private var firstEnding: Unmanaged<Party>?
  /// Operations that are over, of each of which the engine's reference is to go.
  private var firstOver: OperationSlot.Pointer?
  /// Behind a pointer, so that an outbox has nothing that is counted: most stay empty.
  private var staged: UnsafeMutablePointer<[StagedState]>?

  @inline(__always)
  var isEmpty: Bool { firstOver == nil && !hasNews }

  /// Whether there is anything that somebody waits for.
  @inline(__always)
  var hasNews: Bool {
    firstNotice != nil || firstEdge != nil || staged != nil || firstEnding != nil
  }

  // MARK: In

  mutating func addNotice(
    of slot: OperationSlot.Pointer, _ details: UnsafeMutablePointer<OperationDetails>
  ) {
    details.pointee.nextNotice = firstNotice
    firstNotice = slot
  }

  /// Adds the edges of an operation that has ended so, or one that has its names.
  mutating func tell(_ first: Edge.Pointer, to last: Edge.Pointer, _ outcome: Outcome?) {
    first.pointee.outcome = outcome
    if let lastEdge { lastEdge.pointee.next = first } else { firstEdge = first }
    lastEdge = last
  }

  /// Those that are left of a party are to end.
  mutating func end(_ party: Party) {
    party.nextEnding = firstEnding
    firstEnding = .passRetained(party)
  }

  mutating func letGo(of slot: OperationSlot.Pointer) {
    slot.pointee.nextDelivery = firstOver
    firstOver = slot
  }

  /// Drops a reference of an operation's; if that is the last one, once the lock is given up.
  mutating func dropReference(of slot: OperationSlot.Pointer) {
    if !slot.dropReferenceWithoutRecycling() { return }
    slot.addReference()
    letGo(of: slot)
  }

  mutating func deliver(_ states: [StagedState]) {
    if states.isEmpty { return }
    if staged == nil {
      staged = .allocate(capacity: 1)
      staged!.initialize(to: [])
    }
    staged!.pointee += states
  }

  // MARK: Out

  mutating func takeFollowup() -> Followup {
    defer { (firstEdge, lastEdge, firstEnding) = (nil, nil, nil) }
    return Followup(edges: firstEdge, ending: firstEnding)
  }

  /// The first that is to be told, and what.
  var firstToTell: (Edge.Pointer, Outcome)? { firstEdge.map { ($0, $0.pointee.outcome!) } }

  /// That one has been told so; `next` is the one after it.
  mutating func firstIsTold(_ next: Edge.Pointer?, _ outcome: Outcome) {
    firstEdge = next
    // Its own, where another operation's edges begin.
    next?.pointee.outcome = next?.pointee.outcome ?? outcome
    if next == nil { lastEdge = nil }
  }

  @inline(__always)
  mutating func takeStaged() -> [StagedState]? {
    guard let memory = staged else { return nil }
    staged = nil
    defer { memory.deallocate() }
    return memory.move()
  }

  /// Does all of it. No lock is held. `executor`: the lane's; nil when its queue is gone, and no
  /// handlers are called any more. `lane`: it gets a drainer, after the handlers.
  mutating func perform(_ executor: Executor?, _ lane: Lane.Pointer? = nil) {
    var notice = firstNotice
    firstNotice = nil
    while let slot = notice {
      notice = slot.pointee.details!.pointee.nextNotice
      if let executor {
        executor.submit(ReadyRing.Item(noticesOf: slot))
      } else {
        slot.dropReference()
      }
    }
    if let lane { executor!.submit(ReadyRing.Item(lane: lane)) }
    takeFollowup().perform()
    dropOver()
    takeStaged()?.deliver()
  }

  /// Lets go of what is over. No lock is held.
  @inline(__always)
  mutating func dropOver() {
    while let slot = firstOver {
      firstOver = slot.pointee.nextDelivery
      slot.dropReference()
    }
  }
}

/// Who hears of ends, which may end others, and so on.
struct Followup {
  /// Who is to be told.
  var edges: Edge.Pointer?
  /// Whose followers are to end.
  var ending: Unmanaged<Party>?

  /// Does all of it. What follows from one gets to the end of the list: a long chain takes no stack.
  /// No lock is held.
  func perform() {
    var next = edges
    var ending = ending
    var outcome: Outcome?
    var rest: [Edge.Pointer] = []
    func add(_ more: Followup) {
      if let edges = more.edges { rest.append(edges) }
      // One at most: of the one operation that has ended.
      guard let party = more.ending else { return }
      party._withUnsafeGuaranteedRef { $0.nextEnding = ending }
      ending = party
    }
    while true {
      if let edge = next ?? rest.popLast() {
        outcome = edge.pointee.outcome ?? outcome
        let slot = edge.pointee.later
        if slot.lane.tellSome(edge, &outcome, rest: &next) { continue }
        next = edge.pointee.next
        add(slot.lane.tell(slot, edge, outcome!))
        slot.dropReference()
      } else if let party = ending?.takeRetainedValue() {
        ending = party.nextEnding
        add(Lane.Pointer.end(party))
      } else {
        return
      }
    }
  }
}
