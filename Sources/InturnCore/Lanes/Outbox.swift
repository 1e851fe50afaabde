/// What is decided under a lane's lock and done once it is released: whom to tell of ends and
/// names, which handlers to call, which references to drop, which states to tell.
///
/// Each holder of the lock has its own outbox and passes it to `Lane.unlock`. Only states need
/// memory: everything else is linked through the operations.
struct Outbox {
  /// Operations whose handlers are submitted to the executor, with a reference of each.
  private var firstNotice: OperationSlot.Pointer?
  /// Edges to operations that are told of an end, or that they have their names.
  private var firstEdge: Edge.Pointer?
  private var lastEdge: Edge.Pointer?
  /// Parties whose leader has ended and that still have followers to end.
  private var firstEnding: Unmanaged<Party>?
  /// Operations that are over, and whose engine's reference is dropped.
  private var firstOver: OperationSlot.Pointer?
  /// Behind a pointer, so that an outbox holds nothing reference-counted: most stay empty.
  private var staged: UnsafeMutablePointer<[StagedState]>?

  @inline(__always)
  var isEmpty: Bool { firstOver == nil && !hasNews }

  /// Whether it contains anything that somebody waits for.
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

  /// Adds the edges of an operation that has ended with `outcome`, or of one that has its names.
  mutating func tell(_ first: Edge.Pointer, to last: Edge.Pointer, _ outcome: Outcome?) {
    first.pointee.outcome = outcome
    if let lastEdge { lastEdge.pointee.next = first } else { firstEdge = first }
    lastEdge = last
  }

  /// The remaining followers of a party have to end.
  mutating func end(_ party: Party) {
    party.nextEnding = firstEnding
    firstEnding = .passRetained(party)
  }

  mutating func letGo(of slot: OperationSlot.Pointer) {
    slot.pointee.nextDelivery = firstOver
    firstOver = slot
  }

  /// Drops a reference of an operation. The last one is dropped once the lock is released.
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

  /// The first edge to tell, and its outcome.
  var firstToTell: (Edge.Pointer, Outcome)? { firstEdge.map { ($0, $0.pointee.outcome!) } }

  /// The first edge has been told; `next` is the one after it.
  mutating func firstIsTold(_ next: Edge.Pointer?, _ outcome: Outcome) {
    firstEdge = next
    // It has its own outcome where another operation's edges begin.
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

  /// Performs everything. Called without a lock. `executor` is the lane's; nil when the queue is
  /// gone and handlers are no longer called. `lane`, if given, gets a drainer after the handlers.
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

  /// Drops references of operations that are over. Called without a lock.
  @inline(__always)
  mutating func dropOver() {
    while let slot = firstOver {
      firstOver = slot.pointee.nextDelivery
      slot.dropReference()
    }
  }
}

/// Ends to be told, which may cause other ends, and so on.
struct Followup {
  /// The edges to tell.
  var edges: Edge.Pointer?
  /// The parties whose followers have to end.
  var ending: Unmanaged<Party>?

  /// Tells all, and what follows from each. Consequences are appended to a list, so a long chain
  /// uses no stack. Called without a lock.
  func perform() {
    var next = edges
    var ending = ending
    var outcome: Outcome?
    var rest: [Edge.Pointer] = []
    func add(_ more: Followup) {
      if let edges = more.edges { rest.append(edges) }
      // At most one party, as one operation has ended.
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
