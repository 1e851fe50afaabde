/// What decides when an operation starts, and how often; of operations whose options say something
/// about that.
///
/// Protected by its lane's lock, but for what never changes once the operation is accepted.
struct OperationPlan {
  typealias Pointer = UnsafeMutablePointer<OperationPlan>

  /// The level of the urgent ones: above every priority.
  static var urgentLevel: Int64 { Int64.max }

  /// What keeps a pending operation from starting: others that have not ended, names that others
  /// have, a delay.
  var blockers: UInt32 = 0
  var priority: Int32 = 0
  var isBarrier = false
  var isUrgent = false
  /// Whether it is only to start when all of those that it comes after have finished.
  var needsFinished = false
  /// Whether the plan lies in its details' memory.
  var isInDetails = false
  var ownsEdges = false
  /// How often its work was called.
  var attempts: UInt32 = 0
  /// The operations that it comes after; in the same memory as the plan, unless it owns them.
  var edges: UnsafeMutablePointer<Edge>?
  /// How many of them are set up.
  var linkedCount = 0
  var condition: RawCondition?
  /// The names that no two operations have at a time.
  var names: NameClaims?
  var retry: RetryPolicy?
  /// It goes before all that is not urgent once nothing blocks it.
  var comesNext = false
  /// The generation that its handle has; its tokens have later ones from the second attempt on.
  var handleGeneration: UInt32 = 0
  /// The attempt ends before its work was called: see `goBackIfStopped`.
  var goesBack = false
  /// When its next attempt is due; `Int64.max` for none.
  var retryAt = Int64.max
  /// What the retry policy's function said of the attempt that is over.
  var verdict = Verdict.open

  enum Verdict { case open, again, enough }
}

/// One operation that another one comes after: a link in the list that the earlier one's end works
/// through.
struct Edge {
  typealias Pointer = UnsafeMutablePointer<Edge>

  /// In the earlier operation's list, and then in that of the thread that works through it.
  var next: Pointer?
  /// The one that comes after. A reference of it is held while the edge is in a list.
  var later: OperationSlot.Pointer
  /// The earlier one, until this one has been told of its end. Not a reference: whoever looks at
  /// it compares the generation. Nil in the edge by which an operation gets its names.
  var earlier: OperationSlot.Pointer?
  var earlierGeneration: UInt32 = 0
  /// How the earlier ones ended: of this edge and those that follow it in a list of several.
  var outcome: Outcome?
}

/// Says just before the start whether an operation is still wanted; see `inturn_condition_fn`.
package typealias RawCondition = @convention(c) (UnsafeMutableRawPointer?) -> UInt32

extension OperationPlan.Pointer {
  func destroy() {
    let isInDetails = pointee.isInDetails
    if pointee.ownsEdges { pointee.edges!.deallocate() }
    deinitialize(count: 1)
    if !isInDetails { deallocate() }
  }
}

extension OperationPlan {
  /// Whether an operation with these options needs a plan.
  static func isNeeded(_ options: UnsafePointer<OperationOptions>, earlier: Int) -> Bool {
    earlier > 0 || options.pointee.priority != 0 || options.pointee.isBarrier
      || options.pointee.isUrgent || options.pointee.condition != nil
      || options.pointee.retry != nil || !options.pointee.names.isEmpty
  }

}

extension OperationPlan.Pointer {
  /// Takes options over. The plan lies in its details' memory, as do the edges.
  func take(_ options: UnsafePointer<OperationOptions>, edges: UnsafeMutablePointer<Edge>) {
    pointee.priority = options.pointee.priority
    pointee.isBarrier = options.pointee.isBarrier
    pointee.isUrgent = options.pointee.isUrgent
    pointee.condition = options.pointee.condition
    pointee.retry = options.pointee.retry
    pointee.edges = edges
    pointee.isInDetails = true
    pointee.needsFinished = options.pointee.needsFinished
    if !options.pointee.names.isEmpty { pointee.names = NameClaims(options.pointee.names) }
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  /// Calls `body` with the operations that these handles name, with references for the time of the
  /// call, or says why one of them names none.
  static func withEarlier(
    _ handles: UnsafeBufferPointer<Handle>?,
    _ body: (UnsafeBufferPointer<OperationSlot.Pointer>) -> Status
  ) -> Status {
    guard let handles, !handles.isEmpty else { return body(.init(start: nil, count: 0)) }
    return withUnsafeTemporaryAllocation(
      of: OperationSlot.Pointer.self, capacity: handles.count
    ) { slots in
      var found = 0
      defer { for slot in slots[..<found] { slot.dropReference() } }
      for handle in handles {
        let (status, slot) = find(operation: handle)
        guard let slot else { return status }
        slots.initializeElement(at: found, to: slot)
        found += 1
      }
      return body(UnsafeBufferPointer(slots))
    }
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  var plan: OperationPlan.Pointer? { pointee.details?.pointee.plan }

  var blockers: UInt32 { plan?.pointee.blockers ?? 0 }

  @inline(__always)
  var condition: RawCondition? { plan?.pointee.condition }

  /// Where a lane's order has it.
  var level: Int64 {
    guard let plan else { return 0 }
    return plan.pointee.isUrgent ? OperationPlan.urgentLevel : Int64(plan.pointee.priority)
  }

  /// A segment, or an operation that is to be started again.
  var hasBegun: Bool {
    !loadWord().flags.isDisjoint(with: [.segment, .reattempted])
  }

  var index: UInt32 { pointee.index }
}
