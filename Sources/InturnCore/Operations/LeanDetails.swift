/// Details of operations that ask only for dependencies and a priority.
///
/// Each is one piece of memory with a plan and one edge, pooled in the state in which such an
/// operation needs it, so that taking it writes nothing. It stays *lean* until somebody calls
/// `needDetailsLocked`, and may then change anything. Details that are no longer lean are freed
/// with their operation, like all others.
struct LeanDetailsPool: ~Copyable {
  private struct Shelf {
    /// Linked by their first edges, which pooled details do not use.
    var first: OperationDetails.Pointer?
    var count = 0
  }

  /// Protects `shelf`.
  private let lock = BriefLock()
  private let shelf = UnsafeMutablePointer<Shelf>.allocate(capacity: 1)

  /// How many are kept at most: about 64 MB.
  private static var limit: Int { 1 << 17 }

  init() { shelf.initialize(to: Shelf()) }

  /// Only for a pool that nobody has used; the engine's lives as long as the process.
  deinit { shelf.deallocate() }

  /// Takes details with room for `count` edges. Nil when memory runs out.
  @_optimize(speed)
  @inline(__always)
  func take(edges count: Int) -> OperationDetails.Pointer? {
    guard let details = takeOne() else { return nil }
    if count > 1 && !details.pointee.plan.unsafelyUnwrapped.addRoom(forEdges: count) {
      giveBack(details)
      return nil
    }
    return details
  }

  @_optimize(speed)
  private func takeOne() -> OperationDetails.Pointer? {
    lock.lock()
    guard let details = shelf.pointee.first else {
      lock.unlock()
      return OperationDetails.makeLean()
    }
    let next = UnsafeMutableRawPointer(details.pointee.firstEdge)
    shelf.pointee.first = next?.assumingMemoryBound(to: OperationDetails.self)
    shelf.pointee.count -= 1
    lock.unlock()
    details.pointee.firstEdge = nil
    return details
  }

  /// Takes back details that are still lean.
  @_optimize(speed)
  func giveBack(_ details: OperationDetails.Pointer) {
    details.makeLeanAgain()
    lock.lock()
    let isKept = shelf.pointee.count < Self.limit
    if isKept {
      details.pointee.firstEdge = UnsafeMutableRawPointer(shelf.pointee.first)?
        .assumingMemoryBound(to: Edge.self)
      shelf.pointee.first = details
      shelf.pointee.count += 1
    }
    lock.unlock()
    if !isKept { _ = details.destroy() }
  }
}

extension OperationDetails {
  typealias Pointer = UnsafeMutablePointer<OperationDetails>

  /// All three types are made of words, so each one's stride keeps the next one aligned.
  fileprivate static var edgeOffset: Int { MemoryLayout<OperationDetails>.stride }
  fileprivate static var planOffset: Int { edgeOffset + MemoryLayout<Edge>.stride }

  @inline(never)
  fileprivate static func makeLean() -> Pointer? {
    guard let memory = malloc(planOffset + MemoryLayout<OperationPlan>.stride) else { return nil }
    let details = memory.bindMemory(to: OperationDetails.self, capacity: 1)
    let plan = (memory + planOffset).bindMemory(to: OperationPlan.self, capacity: 1)
    details.initialize(to: OperationDetails())
    plan.initialize(to: OperationPlan())
    plan.pointee.isInDetails = true
    plan.pointee.edges = (memory + edgeOffset).bindMemory(to: Edge.self, capacity: 1)
    details.pointee.plan = plan
    details.pointee.isLean = true
    return details
  }
}

extension UnsafeMutablePointer<OperationDetails> {
  /// Resets what the short ways change.
  @_optimize(speed)
  fileprivate func makeLeanAgain() {
    let memory = UnsafeMutableRawPointer(self)
    let plan = (memory + OperationDetails.planOffset).assumingMemoryBound(to: OperationPlan.self)
    if plan.pointee.ownsEdges {
      plan.pointee.edges!.deallocate()
      plan.pointee.ownsEdges = false
      plan.pointee.edges = (memory + OperationDetails.edgeOffset)
        .assumingMemoryBound(to: Edge.self)
    }
    plan.pointee.priority = 0
    plan.pointee.blockers = 0
    plan.pointee.attempts = 0
    plan.pointee.linkedCount = 0
    plan.pointee.needsFinished = false
    pointee.plan = plan
    pointee.firstEdge = nil
    pointee.lastEdge = nil
  }

  /// Frees the details and everything in them. Returns the party, which may hold another
  /// operation's result.
  @_optimize(speed)
  func destroy() -> Party? {
    var party: Party?
    pointee.onCancel.destroyContext()
    pointee.onPreempt.destroyContext()
    pointee.timer?.giveUp()
    pointee.plan?.destroy()
    if let groups = pointee.groups {
      party = groups.pointee.party
      groups.deinitialize(count: 1)
      groups.deallocate()
    }
    deinitialize(count: 1)
    deallocate()
    return party
  }
}

extension OperationPlan.Pointer {
  /// Gives a plan without edges room for more than the one that it came with.
  fileprivate func addRoom(forEdges count: Int) -> Bool {
    guard let memory = malloc(count * MemoryLayout<Edge>.stride) else { return false }
    pointee.edges = memory.bindMemory(to: Edge.self, capacity: count)
    pointee.ownsEdges = true
    return true
  }
}
