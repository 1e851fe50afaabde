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
  /// Operations that were started and whose ends the lane has not heard of.
  var running: Int64 = 0
  /// Operations that have ended.
  var ended: Int64 = 0
  /// The gate of a burst that was under way is running one of those, and is not counted as ended.
  /// Asked once, when that burst ends: there is no other one.
  var hasGate = false
  var trails: [StateTrail] = []
  /// What all of those have been told, or are to be.
  var staged: Moment?

  /// The states at one moment.
  struct Moment: Equatable {
    let running: Int64
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
      let states = UnsafeMutablePointer<LaneStates>.allocate(capacity: 1)
      states.initialize(to: makeStatesLocked())
      extra.pointee.states = states
      pointee.machine.flags.insert(.watched)
    }
    trail.assume(momentLocked.state(trail.aspect))
    extra.pointee.states!.pointee.trails.add(trail)
  }

  /// Counts what there is. From now on, the lane counts along.
  private func makeStatesLocked() -> LaneStates {
    stopBurstLocked()
    var states = LaneStates()
    let extra = needExtra()
    states.ended = Int64(pointee.finished + extra.pointee.ends.sum)
    states.running = Int64(pointee.machine.running - extra.pointee.ends.keepingPlaces)
    if let slot = firstRunningSlot, isGateOfBurstLocked(slot) {
      // It counts as ended from its start on; between two operations it has returned.
      states.hasGate = !slot.loadWord().contains(.returned)
      if states.hasGate { states.ended -= 1 } else { states.running -= 1 }
    }
    return states
  }

  // MARK: Counting

  @inline(__always)
  func countStartLocked() {
    if !pointee.machine.countsStarts { return }
    pointee.extra!.pointee.states?.pointee.running += 1
    if pointee.machine.flags.contains(.rated) { countStartForRateLocked() }
  }

  /// An operation has ended so, or so many that were pending have.
  func countEndLocked(
    _ outcome: Outcome, wasRunning: Bool, times: UInt64 = 1, _ outbox: inout Outbox
  ) {
    if outcome == .finished {
      pointee.finished += times
    } else {
      needExtra().pointee.ends.add(outcome, times)
    }
    guard let states = pointee.extra?.pointee.states else { return }
    states.pointee.ended += Int64(times)
    if !wasRunning { return }
    states.pointee.running -= 1
    // The lane may start another one before it gives the lock up.
    stageStatesLocked(&outbox)
  }

  /// The burst that was under way when the lane began to count is over.
  @inline(__always)
  func countGateLocked(_ outbox: inout Outbox) {
    guard let states = pointee.extra?.pointee.states, states.pointee.hasGate else { return }
    states.pointee.ended += 1
    states.pointee.running -= 1
    stageStatesLocked(&outbox)
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
    let states = pointee.extra!.pointee.states!
    return LaneStates.Moment(
      running: states.pointee.running, ended: states.pointee.ended, pending: pending,
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
