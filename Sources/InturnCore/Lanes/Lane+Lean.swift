import CInturnSystem
import Synchronization

/// The short way into a lane, for operations that ask for little: a turn, a priority, dependencies
/// on the same queue. Everything else goes the long way, which gives the same result.
extension UnsafeMutablePointer<Lane> {
  /// Adds an operation, the short way if possible.
  func enqueue(
    generation: UInt32, lean options: LeanOptions, work: Work,
    context: UnsafeMutableRawPointer?, destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle) {
    let short = enqueueLean(
      generation: generation, options, work: work, context: context, destroy: destroy,
      wantsHandle: wantsHandle)
    if let short { return short }
    return enqueueInFull(
      generation, options, work, context, destroy, wantsHandle: wantsHandle)
  }

  @inline(never)
  private func enqueueInFull(
    _ generation: UInt32, _ options: LeanOptions, _ work: Work,
    _ context: UnsafeMutableRawPointer?, _ destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle) {
    var all = OperationOptions()
    all.priority = options.priority
    all.after = options.after
    all.needsFinished = options.needsFinished
    return withUnsafePointer(to: &all) {
      enqueue(
        generation: generation, options: $0, work: work, context: context, destroy: destroy,
        wantsHandle: wantsHandle)
    }
  }

  /// Nil, with nothing done, when it has to go the long way.
  @_optimize(speed)
  private func enqueueLean(
    generation: UInt32, _ options: LeanOptions, work: Work,
    context: UnsafeMutableRawPointer?, destroy: RawDestroy?, wantsHandle: Bool
  ) -> (Status, Handle)? {
    if !wantsHandle && options.after.isEmpty {
      let job = Job(work: work, context: context, destroy: destroy)
      return enqueueBare(job, generation, priority: options.priority)
    }
    if options.after.count > Self.portion { return nil }
    var needsEdges = false
    for handle in options.after {
      switch look(at: handle) {
      case .open: needsEdges = true
      case .over(let outcome):
        if options.needsFinished && outcome != .finished { return nil }
      case .other: return nil
      }
    }
    // References: the engine's, the buffer's, one for each edge, the handle's.
    let edges = needsEdges ? options.after.count : 0
    let references = UInt32(truncatingIfNeeded: edges) + (wantsHandle ? 3 : 2)
    let none = Handle(bits: 0)
    guard
      let slot = OperationSlot.Pointer.take(
        for: self, generation, .observed, references: references)
    else { return (.noMemory, none) }
    slot.pointee.work = work
    slot.pointee.context = context
    slot.pointee.destroy = destroy
    slot.pointee.enqueuedAt = inturn_system_now()
    if needsEdges || options.priority != 0 {
      guard let details = Engine.current.pointee.leanDetails.take(edges: edges) else {
        slot.discard(references)
        return (.noMemory, none)
      }
      let plan = details.pointee.plan.unsafelyUnwrapped
      plan.pointee.priority = options.priority
      plan.pointee.needsFinished = options.needsFinished
      slot.pointee.details = details
    }
    let bits = slot.handle(.operation)

    pointee.lock.lock()
    let status = admitLocked(generation)
    if status != .ok || !isLeanLocked(options)
      || (needsEdges && !addEdgesLocked(slot, options.after))
    {
      pointee.lock.unlock()
      slot.discard(references)
      return status == .ok ? nil : (status, none)
    }
    let isBlocked = needsEdges && slot.blockers > 0
    if isBlocked {
      needOrder().block(slot)
      pointee.pending += 1
    } else if !appendLocked(Job(slot: slot), priority: options.priority) {
      pointee.lock.unlock()
      slot.discard(references)
      return (.noMemory, none)
    }
    if wantsHandle {
      // Only from here on does a handle with these bits name an operation. Nobody else changes the
      // word yet.
      let flags: OperationWord.Flags = [.observed, .handleHeld]
      slot.pointee.word.store(
        OperationWord(generation: bits.generation, flags).bits, ordering: .releasing)
    }
    // Drops the references of unused edges. They are not the last ones: the engine's is left.
    let unused = edges - (needsEdges ? Int(slot.blockers) : 0)
    if unused > 0 {
      slot.pointee.references.wrappingSubtract(UInt32(unused), ordering: .relaxed)
    }
    // A blocked operation gives a drainer nothing to do.
    if isBlocked { pointee.lock.unlock() } else { unlock() }
    return (.ok, wantsHandle ? bits : none)
  }

  /// Adds an operation that needs no slot before it starts.
  @_optimize(speed)
  private func enqueueBare(_ job: Job, _ generation: UInt32, priority: Int32) -> (Status, Handle)? {
    pointee.lock.lock()
    var status = admitLocked(generation)
    if status == .ok {
      var options = LeanOptions()
      options.priority = priority
      if !isLeanLocked(options) {
        pointee.lock.unlock()
        return nil
      }
      if !appendLocked(job, priority: priority) { status = .noMemory }
    }
    if status == .ok { unlock() } else { pointee.lock.unlock() }
    return (status, Handle(bits: 0))
  }

  /// Appends a job that can start to those of its priority. False when memory runs out.
  @inline(__always)
  private func appendLocked(_ job: Job, priority: Int32) -> Bool {
    if priority == 0 { return appendLocked(job) }
    if !needOrder().push(job, priority: Int64(priority)) { return false }
    pointee.pending += 1
    return true
  }

  /// Whether the lane can take such an operation the short way.
  private func isLeanLocked(_ options: LeanOptions) -> Bool {
    let areTold = !pointee.machine.flags.isDisjoint(with: [.isObserved, .watched, .recorded])
    if areTold || hasOwnClock { return false }
    if options.priority == 0 && options.after.isEmpty { return true }
    return pointee.machine.traits.contains(.overtaking) && order?.pointee.fence == nil
  }

  // MARK: What comes before

  private enum Earlier {
    case open(OperationSlot.Pointer)
    case over(Outcome)
    /// On another queue, started again, or none.
    case other
  }

  /// Looks at an operation that another one is to depend on, without holding a reference of it.
  ///
  /// "Over" is final: the word says in one load whose it is and how it ended, and no operation gets
  /// a past one's generation. "Open" holds as long as the lane stays locked, if it was locked
  /// before the look. A lane settles an operation under its lock, and the slot is given back only
  /// afterwards: what was settled before is seen as ended here, and nothing is settled meanwhile.
  /// The operation is on this lane if the slot has the same generation before and after the look at
  /// its lane, which changes only between two operations.
  @inline(__always)
  private func look(at handle: Handle) -> Earlier {
    guard handle.isOf(.operation),
      let slot = Engine.current.pointee.operations.pointer(at: handle.index)
    else { return .other }
    let word = slot.loadWord()
    guard word.generation == handle.generation, word.contains(.handleHeld),
      !word.contains(.reattempted)
    else { return .other }
    if word.isEnded { return .over(word.outcome.unsafelyUnwrapped) }
    // The lane that was seen is this operation's only if the slot still has its generation.
    let isHere = slot.isOf(self)
    return isHere && slot.loadWord().generation == handle.generation ? .open(slot) : .other
  }

  /// Gives an operation its edges, and as many blockers. It has the references and the room for
  /// them. Returns false, with nothing done, when it has to go the long way.
  private func addEdgesLocked(
    _ slot: OperationSlot.Pointer, _ after: UnsafeBufferPointer<Handle>
  ) -> Bool {
    let plan = slot.plan.unsafelyUnwrapped
    let edges = plan.pointee.edges.unsafelyUnwrapped
    var count = 0
    for handle in after {
      switch look(at: handle) {
      case .open(let earlier):
        (edges + count).initialize(
          to: Edge(later: slot, earlier: earlier, earlierGeneration: handle.generation))
        count += 1
      case .over(let outcome):
        if plan.pointee.needsFinished && outcome != .finished { return false }
      case .other: return false
      }
    }
    for edge in edges..<edges + count {
      edge.pointee.earlier.unsafelyUnwrapped.needEdgeListLocked().append(edge)
    }
    plan.pointee.linkedCount = count
    plan.pointee.blockers = UInt32(truncatingIfNeeded: count)
    return true
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  @inline(__always)
  fileprivate func isOf(_ lane: Lane.Pointer) -> Bool {
    // Acquiring, so that the word is loaded after it.
    pointee.laneAddress.load(ordering: .acquiring) == UInt(bitPattern: lane)
  }

  /// The details, for a caller that only adds an edge to their list.
  @inline(__always)
  fileprivate func needEdgeListLocked() -> OperationDetails.Pointer {
    pointee.details ?? makeEdgeListLocked()
  }

  @inline(never)
  private func makeEdgeListLocked() -> OperationDetails.Pointer {
    guard let details = Engine.current.pointee.leanDetails.take(edges: 0) else {
      return needDetailsLocked()
    }
    // These details have a plan's memory, but no plan.
    details.pointee.plan = nil
    pointee.details = details
    return details
  }
}
