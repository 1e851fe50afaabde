import CInturnSystem
import Synchronization

/// A drainer that its caller steps from one operation to the next, at any time and on any thread:
/// for work that is not a C function.
///
/// It does what `Lane.drain` does, and in the same bursts. Operations without options or handle are
/// *plain*: their work and context belong to the host, which gets them when they start, so the
/// engine destroys only what never started. The lowest three bits of a plain operation's context
/// are its tag. A drainer only takes operations of one tag, and goes back for another one.
package final class LaneDrainer: @unchecked Sendable {
  // Safe to share: only one task at a time uses it. The lane's lock, an actor or the task's own
  // order passes its state from one to the next.

  package enum Step {
    /// A plain operation has started: end it, then call `plainReturned`.
    case plain(work: UInt, context: UInt, token: Handle)
    /// An operation that has to be claimed is next. Its host has kept its context, and this drainer
    /// is done. All operations with slots, and plain ones with `claimedTag`, are claimed.
    case offered(context: UInt)
    /// A plain operation of another tag is next. The turn has to be taken again for that tag.
    case wentBack(OutsideExecutor.Turn, tag: UInt, context: UInt)
    /// There is nothing to do; this drainer is done.
    case left
  }

  private let turn: OutsideExecutor.Turn
  @exclusivity(unchecked) private var budget = DrainBudget(remaining: Int.max, atExit: true)
  @exclusivity(unchecked) private var burst: Burst?
  /// The plain operation whose work is being called, if it has a slot of its own.
  @exclusivity(unchecked) private var slot: OperationSlot.Pointer?

  private var lane: Lane.Pointer { turn.lane }

  package static var tagMask: UInt { 7 }
  /// The tag of plain operations that are offered and, once claimed, over for the lane.
  package static var claimedTag: UInt { 6 }
  /// Work of a plain operation that a cancel-all only marks: before the mark, and after it. No
  /// function has such an address, and an optional job's nil is a smaller number.
  package static var obstinate: UInt { 4096 }
  package static var askedToEnd: UInt { 4097 }

  /// Takes the turn.
  package init(_ turn: OutsideExecutor.Turn) {
    self.turn = turn
    lane.pointee.lock.withLock { lane.pointee.machine.drainerArrives() }
  }

  /// Starts the next operation, or offers it. `tag` is the tag of the plain operations that the
  /// caller can take; nil for none. It is evaluated under the lane's lock whenever the operation
  /// may have just been enqueued, so that it sees everything before that enqueue. A patient caller
  /// waits a moment for another operation before it leaves.
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

  /// Starting another drainer would cost more than this moment. Ends before the pauses would yield
  /// the processor.
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
      // It waits for others to end or for names; whoever ends them asks for a drainer.
      if lane.pointee.machine.flags.contains(.headBlocked) { continue }
      guard let job = lane.firstJobLocked() else { continue }
      if !job.work.isNone {
        let tag = askForTag()
        if job.tag != tag { return goBackLocked(job) }
        if lane.pointee.machine.countsStarts { return startPlainLocked() }
        // It has no slot, so it is in the buffer.
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

  /// The plain operation's work has returned. If the operation has not ended, it has suspended, and
  /// an actor lane may run others.
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

  /// Leaves the lane locked; false in a forked child, or when the process exits.
  private func endBurst() -> Bool {
    defer { burst = nil }
    return lane.endBurst(burst!, &budget)
  }

  /// Starts a plain operation outside of a burst, on a lane that counts starts.
  private func startPlainLocked() -> Step {
    let job = lane.popLocked().unsafelyUnwrapped
    lane.pointee.pending -= 1
    guard
      // The engine's reference and the drainer's.
      let slot = OperationSlot.Pointer.take(
        for: lane, lane.pointee.generation, .started, references: 2)
    else { inturn_system_end_without_memory() }
    slot.pointee.work = job.work
    lane.addRunningLocked(slot)
    lane.countStartLocked()
    if Recorder.isOn { lane.traceStartedLocked(slot, isPlain: true) }
    self.slot = slot
    lane.drainerCallsLocked()
    let token = slot.handle(.token)
    unlockAndDeliver()
    return .plain(
      work: job.work.address, context: UInt(bitPattern: job.context),
      token: token)
  }

  /// Releases the lock and delivers what was staged, as the lane's own drainer does.
  private func unlockAndDeliver() {
    let staged = lane.stagedBeforeCallLocked(&budget.outbox)
    lane.unlockForCall(&budget)
    if let staged { CallFrame(lane: lane).enter { staged.deliver() } }
  }

  /// The same for an operation with a slot. It has no deadline and no grace time, so the lane has
  /// not gone on without this drainer.
  private func operationReturned(_ slot: OperationSlot.Pointer) {
    self.slot = nil
    lane.pointee.lock.lock()
    lane.drainerReturnsLocked()
    lane.pointee.lock.unlock()
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

  /// Whether a cancel-all only marks it.
  var isObstinate: Bool {
    work.address == LaneDrainer.obstinate || work.address == LaneDrainer.askedToEnd
  }

  var isAskedToEnd: Bool { work.address == LaneDrainer.askedToEnd }

  /// The same job, marked as asked to end.
  var askedToEnd: Job {
    Job(
      work: Work(unsafeBitCast(LaneDrainer.askedToEnd, to: RawWork?.self), at: work.site)!,
      context: context, destroy: destroy)
  }
}
