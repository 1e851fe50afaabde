import Synchronization

/// A drainer that goes from one operation to the next when it is told to, with any time and on any
/// threads in between: for work that is not a C function.
///
/// It does what `Lane.drain` does, and in the same bursts. Operations without options or handle
/// are *plain*: what they carry is the host's, and is given to it when they start, so that the
/// engine destroys only what never started. The lowest three bits of a plain operation's context
/// are its tag; a drainer only takes operations of one tag, and goes back for another one.
package final class LaneDrainer: @unchecked Sendable {
  // Safe to share: one task at a time uses it, and what it hands from one to the next goes through
  // the lane's lock, an actor or a task's own order.

  package enum Step {
    /// A plain operation has started: end it, then call `plainReturned`.
    case plain(work: UInt, context: UInt, token: Handle)
    /// An operation that is to be claimed is next: its host has kept its context, and this drainer is
    /// done. Those are all that have slots, and plain ones of `claimedTag`.
    case offered(context: UInt)
    /// A plain operation of another tag is next. The turn has to be taken again, for that one.
    case wentBack(OutsideExecutor.Turn, tag: UInt, context: UInt)
    /// There is nothing to do; this drainer is done.
    case left
  }

  private let turn: OutsideExecutor.Turn
  private var budget = DrainBudget(remaining: Int.max)
  private var burst: Burst?
  /// The plain operation whose work is being called, where it has a slot of its own.
  private var slot: OperationSlot.Pointer?

  private var lane: Lane.Pointer { turn.lane }

  package static var tagMask: UInt { 7 }
  /// Of plain operations that are offered, and over for the lane when they are claimed.
  package static var claimedTag: UInt { 6 }
  /// The work of a plain operation that a cancel of all only marks, before that and afterwards: no
  /// function has such an address. Nor are they among the smaller ones, by which an optional job says
  /// that it is none.
  package static var obstinate: UInt { 4096 }
  package static var askedToEnd: UInt { 4097 }

  /// Takes the turn.
  package init(_ turn: OutsideExecutor.Turn) {
    self.turn = turn
    lane.pointee.lock.lock()
    lane.pointee.machine.drainerArrives()
    lane.pointee.lock.unlock()
  }

  /// Starts the next operation, or offers it. `tag` is that of the plain operations which the caller
  /// can take; nil for none. It is asked for under the lane's lock where an operation could be one
  /// that was enqueued a moment ago, so that it sees all that came before that enqueue. One that is
  /// patient waits a moment for another operation before it leaves.
  package func next(tag: @autoclosure () -> UInt?, isPatient: Bool = false) -> Step {
    if burst == nil {
      lane.pointee.lock.lock()
    } else if let step = nextOfBurst(tag()) {
      return step
    } else if !endBurst() {
      return .left
    }
    if isPatient { waitForJobsLocked() }
    return nextLocked(tag)
  }

  /// Another drainer would cost more than the moment. As long as it pauses without giving its
  /// processor up.
  private func waitForJobsLocked() {
    var backoff = Backoff()
    for _ in 0..<4 where lane.pointee.pending == 0 && lane.pointee.machine.flags.isEmpty {
      lane.pointee.lock.unlock()
      for _ in 0..<16 { backoff.pause() }
      lane.pointee.lock.lock()
    }
  }

  private func nextLocked(_ askForTag: () -> UInt?) -> Step {
    while lane.comeToStartLocked(&budget) {
      if let context = lane.offerLocked() {
        lane.pointee.machine.drainerLeaves()
        unlockAndDeliver()
        budget.dropSpareGate()
        return .offered(context: context)
      }
      // It waits for others' ends or names: whoever ends that asks for a drainer.
      if lane.pointee.machine.flags.contains(.headBlocked) { continue }
      guard let job = lane.firstJobLocked() else { continue }
      if !job.work.isNone {
        let tag = askForTag()
        if job.tag != tag { return goBackLocked(job) }
        if lane.pointee.machine.countsStarts { return startPlainLocked() }
        // It has no slot, and so it is in the buffer.
        burst = lane.beginBurstLocked(lane.frontLocked().unsafelyUnwrapped, &budget)
        if let step = nextOfBurst(tag) { return step }
        if !endBurst() { return .left }
      } else if !lane.dropTombstoneLocked(lane.popLocked()!.slot!, &budget) {
        return .left
      }
    }
    budget.dropSpareGate()
    return .left
  }

  private func goBackLocked(_ job: Job) -> Step {
    lane.pointee.machine.drainerGoesBack()
    unlockAndDeliver()
    budget.dropSpareGate()
    return .wentBack(turn, tag: job.tag, context: UInt(bitPattern: job.context))
  }

  // MARK: Plain operations

  /// Nil when the burst is over.
  private func nextOfBurst(_ tag: UInt?) -> Step? {
    guard let job = burst!.next(where: { $0.tag == tag }) else { return nil }
    return .plain(
      work: job.work.address, context: UInt(bitPattern: job.context),
      token: Handle(bits: burst!.token))
  }

  /// The plain operation's work has returned. When it has not ended, it has suspended: others of an
  /// actor lane may follow.
  package func plainReturned() {
    if let slot {
      operationReturned(slot)
    } else if let word = burst!.returned(keeping: nil, nil) {
      burst!.count(word)
    } else {
      lane.suspendBurst(burst!)
      burst = nil
      lane.pointee.lock.unlock()
    }
  }

  /// Leaves the lane locked; false when the process is not the same any more.
  private func endBurst() -> Bool {
    defer { burst = nil }
    return lane.endBurst(burst!, &budget)
  }

  /// The same outside of bursts, for a lane whose states are told: each start is a change.
  private func startPlainLocked() -> Step {
    let job = lane.popLocked().unsafelyUnwrapped
    lane.pointee.pending -= 1
    guard
      // The engine's reference and the drainer's.
      let slot = OperationSlot.Pointer.take(
        for: lane, lane.pointee.generation, .started, references: 2)
    else { Engine.outOfMemory() }
    slot.pointee.work = job.work
    lane.addRunningLocked(slot)
    lane.countStartLocked()
    self.slot = slot
    let token = slot.handle(.token)
    unlockAndDeliver()
    return .plain(
      work: job.work.address, context: UInt(bitPattern: job.context),
      token: token)
  }

  /// Gives the lock up, and tells what was staged, as the lane's own drainer does.
  private func unlockAndDeliver() {
    let staged = lane.stagedBeforeCallLocked(&budget.outbox)
    lane.unlockForCall(&budget)
    guard let staged else { return }
    var frame = CallFrame(lane: lane)
    withUnsafeMutablePointer(to: &frame) { frame in
      frame.push()
      staged.deliver()
      frame.pop()
    }
  }

  /// The same for one with a slot. It has no deadline and no grace time: the lane has not gone on
  /// without this drainer.
  private func operationReturned(_ slot: OperationSlot.Pointer) {
    self.slot = nil
    if lane.callReturned(slot, &budget) == .goOn {
      lane.unlock(&budget.outbox)
    } else {
      budget.dropSpareGate()
    }
  }
}

extension Job {
  @inline(__always)
  var tag: UInt { UInt(bitPattern: context) & LaneDrainer.tagMask }

  /// Whether a cancel of all only marks it.
  var isObstinate: Bool {
    work.address == LaneDrainer.obstinate || work.address == LaneDrainer.askedToEnd
  }

  var isAskedToEnd: Bool { work.address == LaneDrainer.askedToEnd }

  /// The same job, marked.
  var askedToEnd: Job {
    Job(
      work: Work(unsafeBitCast(LaneDrainer.askedToEnd, to: RawWork?.self), at: work.site)!,
      context: context, destroy: destroy)
  }
}
