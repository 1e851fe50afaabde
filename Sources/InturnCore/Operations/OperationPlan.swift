/// When, and how often, an operation starts, for operations whose options affect that.
///
/// The lane's lock protects it, except for what never changes once the operation is accepted.
struct OperationPlan {
  typealias Pointer = UnsafeMutablePointer<OperationPlan>

  /// The level of urgent operations, above every priority.
  static var urgentLevel: Int64 { Int64.max - 1 }
  /// The level of those that come next, or have had their turn and have to repeat it.
  static var nextUrgentLevel: Int64 { Int64.max }

  /// How many things keep a pending operation from starting: operations that have not ended, names
  /// that others hold, a delay.
  var blockers: UInt32 = 0
  var priority: Int32 = 0
  var isBarrier = false
  var isUrgent = false
  /// Whether it may start only if all of its dependencies have finished.
  var needsFinished = false
  /// Whether the plan lies in its details' memory.
  var isInDetails = false
  var ownsEdges = false
  /// How often its work has been called.
  var attempts: UInt32 = 0
  /// Edges to its dependencies, in the same memory as the plan, unless `ownsEdges`.
  var edges: UnsafeMutablePointer<Edge>?
  /// How many edges are set up.
  var linkedCount = 0
  var condition: RawCondition?
  /// Names, each of which one operation holds at a time. They lie in the details' memory.
  var names: NameClaims.Pointer?
  var retry: RetryPolicy?
  /// Once unblocked, it goes before everything that is not urgent; if it is urgent itself, before
  /// that as well.
  var comesNext = false
  /// The generation in the operation's handle; from the second attempt on, its tokens have later
  /// ones.
  var handleGeneration: UInt32 = 0
  /// Whether the attempt ends before its work is called: see `goBackIfStopped`.
  var goesBack = false
  /// When its next attempt is due; `Int64.max` for none.
  var retryAt = Int64.max
  /// The retry policy function's verdict on the attempt that is over.
  var verdict = Verdict.open

  enum Verdict { case open, again, enough }
}

/// The dependency of one operation on another: a link in the list that is worked through when the
/// earlier one ends.
struct Edge {
  typealias Pointer = UnsafeMutablePointer<Edge>

  /// The next edge in the earlier operation's list, then in that of the thread that works through
  /// it.
  var next: Pointer?
  /// The dependent operation. A reference of it is held while the edge is in a list.
  var later: OperationSlot.Pointer
  /// The earlier operation, until the later one has been told of its end. Not a reference: readers
  /// compare the generation. Nil in an edge that grants an operation its names.
  var earlier: OperationSlot.Pointer?
  var earlierGeneration: UInt32 = 0
  /// The outcome of the earlier operation, for this edge and those that follow it without one of
  /// their own.
  var outcome: Outcome?
}

/// A condition, called just before the start, says whether an operation is still wanted; see
/// `inturn_condition_fn`.
package typealias RawCondition = @convention(c) (UnsafeMutableRawPointer?) -> UInt32

extension OperationPlan.Pointer {
  func destroy() {
    let isInDetails = pointee.isInDetails
    if pointee.ownsEdges { pointee.edges!.deallocate() }
    deinitialize(count: 1)
    if !isInDetails { deallocate() }
  }
}

extension UnsafeMutablePointer<OperationDetails> {
  /// Adds an edge to an operation that waits for this one.
  @inline(__always)
  func append(_ edge: Edge.Pointer) {
    if let last = pointee.lastEdge {
      last.pointee.next = edge
    } else {
      pointee.firstEdge = edge
    }
    pointee.lastEdge = edge
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
  /// Takes over the options. The plan and the edges lie in the details' memory.
  func take(_ options: UnsafePointer<OperationOptions>, edges: UnsafeMutablePointer<Edge>) {
    pointee.priority = options.pointee.priority
    pointee.isBarrier = options.pointee.isBarrier
    pointee.isUrgent = options.pointee.isUrgent
    pointee.condition = options.pointee.condition
    pointee.retry = options.pointee.retry
    pointee.edges = edges
    pointee.isInDetails = true
    pointee.needsFinished = options.pointee.needsFinished
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  /// Calls `body` with the operations that the handles name, holding references for the duration of
  /// the call. Otherwise returns why a handle names none.
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

  /// Its level in a lane's order.
  var level: Int64 {
    guard let plan else { return 0 }
    if !plan.pointee.isUrgent { return Int64(plan.pointee.priority) }
    return plan.pointee.comesNext ? OperationPlan.nextUrgentLevel : OperationPlan.urgentLevel
  }

  /// Whether it is a segment, or an operation that is started again.
  var hasBegun: Bool {
    !loadWord().flags.isDisjoint(with: [.segment, .reattempted])
  }

  var index: UInt32 { pointee.index }
}
