/// A state of a queue that can be observed as a value. The numbers are those of
/// `inturn_queue_aspect`.
package enum QueueAspect: UInt32, CaseIterable, Sendable {
  case pending = 1
  case running, suspended, progress, nextStart
}

/// The observed states of a lane. The lane's lock protects it.
///
/// While this exists, the lane starts each operation under its lock, so that each start and each
/// end is a change.
struct LaneStates {
  var trails: [StateTrail] = []
  /// The states that all trails have been told, or are about to be.
  var staged: Moment?

  /// The states at one moment.
  struct Moment: Equatable {
    /// Operations that were started and that the lane does not know to have ended.
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

  /// Makes a trail follow a state of the queue from now on.
  func followLocked(_ trail: StateTrail, _ outbox: inout Outbox) {
    let extra = needExtra()
    // The other trails are told first of earlier changes.
    stageStatesLocked(&outbox)
    if extra.pointee.states == nil {
      // From now on, every start and end is seen.
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

  /// Stages changes of the queue's states, if they are observed.
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
    let staged = states.pointee.trails.stage(.lane(moment))
    if states.pointee.trails.isEmpty { dropStatesLocked() }
    outbox.deliver(staged)
  }

  private var momentLocked: LaneStates.Moment {
    let pending = Int64(waitingCountLocked)
    let ends = pointee.extra!.pointee.ends
    var running = Int64(pointee.machine.running - ends.keepingPlaces)
    var ended = Int64(pointee.finished + ends.sum)
    // A burst that was under way when the lane was first watched has counted its gate's present
    // operation as finished. Between two operations, the gate has none.
    if let slot = firstRunningSlot, isGateOfBurstLocked(slot) {
      if slot.loadWord().contains([.ended, .returned]) { running -= 1 } else { ended -= 1 }
    }
    return LaneStates.Moment(
      running: running, ended: ended, pending: pending,
      isSuspended: pointee.machine.flags.contains(.suspended), nextStart: nextStartLocked)
  }

  /// The queue is gone, and nothing of it is pending or running: tells the last states. Releases
  /// the lock and takes it again; false as ``performLocked(_:)``.
  func tellLastStatesLocked() -> Bool {
    let extra = pointee.extra!
    var outbox = Outbox()
    stageStatesLocked(&outbox)
    if let states = extra.pointee.states {
      outbox.deliver(states.pointee.trails.map { StagedState(trail: $0, isLast: true) })
      dropStatesLocked()
    }
    return performLocked(&outbox)
  }

  /// The states are no longer observed.
  private func dropStatesLocked() {
    let states = pointee.extra!.pointee.states.take().unsafelyUnwrapped
    states.deinitialize(count: 1)
    states.deallocate()
    pointee.machine.flags.remove(.watched)
  }

  /// Stages changes of an operation's states.
  @inline(__always)
  func stageStatesLocked(of slot: OperationSlot.Pointer, _ outbox: inout Outbox) {
    if slot.loadWord().contains(.watched) { outbox.deliver(slot.stageStatesLocked()) }
  }

  /// What has to be told before a drainer calls work. Nil for nothing.
  @inline(__always)
  func stagedBeforeCallLocked(_ outbox: inout Outbox) -> [StagedState]? {
    stageStatesLocked(&outbox)
    return outbox.takeStaged()
  }
}
