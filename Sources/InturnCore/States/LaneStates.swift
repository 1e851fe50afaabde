/// A state of a queue that is told as a value. The numbers are those of `inturn_queue_aspect`.
package enum QueueAspect: UInt32, CaseIterable, Sendable {
  case pending = 1
  case running, suspended, progress, nextStart
}

/// What is known of a lane whose states are told. The lane's lock protects it.
///
/// While there is one, the lane starts each operation under its lock, so that each start and each
/// end is a change.
struct LaneStates {
  var trails: [StateTrail] = []
  /// What all of those have been told, or are to be.
  var staged: Moment?

  /// The states at one moment.
  struct Moment: Equatable {
    /// Operations that were started and whose ends the lane has not heard of.
    let running: Int64
    /// Operations that have ended.
    let ended: Int64
    let pending: Int64
    let isSuspended: Bool
    let nextStart: Int64

    func state(_ aspect: UInt32) -> RawValue {
      switch QueueAspect(rawValue: aspect).unsafelyUnwrapped {
      case .pending: .integer(pending)
      case .running: .integer(running)
      case .suspended: .boolean(isSuspended)
      case .nextStart: .integer(nextStart)
      case .progress: .progress(Progress(completed: ended, total: ended + running + pending))
      }
    }
  }
}

extension UnsafeMutablePointer<Lane> {
  // MARK: Following

  /// Has a trail follow a state of the queue from now on.
  func followLocked(_ trail: StateTrail, _ outbox: inout Outbox) {
    let extra = needExtra()
    // The others are told before what has changed before.
    stageStatesLocked(&outbox)
    if extra.pointee.states == nil {
      // From now on, each start and each end is seen.
      stopBurstLocked()
      let states = UnsafeMutablePointer<LaneStates>.allocate(capacity: 1)
      states.initialize(to: LaneStates())
      extra.pointee.states = states
      pointee.machine.flags.insert(.watched)
    }
    trail.assume(momentLocked.state(trail.aspect))
    extra.pointee.states!.pointee.trails.add(trail)
  }

  // MARK: Telling

  /// Stages what has changed of the queue, if anybody is told of that.
  @inline(__always)
  func stageStatesLocked(_ outbox: inout Outbox) {
    if pointee.machine.flags.contains(.watched) { stageStatesSlowlyLocked(&outbox) }
  }

  @inline(never)
  private func stageStatesSlowlyLocked(_ outbox: inout Outbox) {
    let states = pointee.extra!.pointee.states!
    let moment = momentLocked
    if states.pointee.staged == moment { return }
    states.pointee.staged = moment
    let staged = states.pointee.trails.stage { moment.state($0) }
    if states.pointee.trails.isEmpty { dropStatesLocked() }
    outbox.deliver(staged)
  }

  private var momentLocked: LaneStates.Moment {
    let pending = Int64(waitingCountLocked)
    let ends = pointee.extra!.pointee.ends
    var running = Int64(pointee.machine.running - ends.keepingPlaces)
    var ended = Int64(pointee.finished + ends.sum)
    // A burst that was under way when the lane was watched first has counted the operation that its
    // gate still has as finished; between two operations, the gate has none.
    if let slot = firstRunningSlot, isGateOfBurstLocked(slot) {
      if slot.loadWord().contains([.ended, .returned]) { running -= 1 } else { ended -= 1 }
    }
    return LaneStates.Moment(
      running: running, ended: ended, pending: pending,
      isSuspended: pointee.machine.flags.contains(.suspended), nextStart: nextStartLocked)
  }

  /// The queue is gone, and nothing of it is pending or running: tells the last that there is to
  /// tell. Gives the lock up and takes it again.
  func tellLastStatesLocked() {
    let extra = pointee.extra!
    var outbox = Outbox()
    stageStatesLocked(&outbox)
    if let states = extra.pointee.states {
      outbox.deliver(states.pointee.trails.map { StagedState(trail: $0, isLast: true) })
      dropStatesLocked()
    }
    performLocked(&outbox)
  }

  /// Nobody is told of the states any more.
  private func dropStatesLocked() {
    let states = pointee.extra!.pointee.states.take().unsafelyUnwrapped
    states.deinitialize(count: 1)
    states.deallocate()
    pointee.machine.flags.remove(.watched)
  }

  /// Stages what has changed of one of its operations.
  @inline(__always)
  func stageStatesLocked(of slot: OperationSlot.Pointer, _ outbox: inout Outbox) {
    if slot.loadWord().contains(.watched) { outbox.deliver(slot.stageStatesLocked()) }
  }

  /// What is to be told before a drainer calls work. Nil: nothing.
  @inline(__always)
  func stagedBeforeCallLocked(_ outbox: inout Outbox) -> [StagedState]? {
    stageStatesLocked(&outbox)
    return outbox.takeStaged()
  }
}
