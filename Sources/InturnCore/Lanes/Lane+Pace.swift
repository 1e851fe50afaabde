/// How a lane keeps its pace.
extension UnsafeMutablePointer<Lane> {
  func setVisibleLocked(_ isVisible: Bool, _ outbox: inout Outbox) {
    let pace = needPaceLocked()
    if pace.pointee.isVisible == isVisible { return }
    pace.pointee.isVisible = isVisible
    if isVisible { pace.pointee.hold(until: clock.moment(after: pace.pointee.settle)) }
    applyPaceLocked()
    if isVisible { askToGiveWayLocked(&outbox) }
  }

  func holdForGapLocked() {
    let pace = needPaceLocked()
    if pace.pointee.gap == 0 { return }
    pace.pointee.hold(until: clock.moment(after: pace.pointee.gap))
    applyPaceLocked()
  }

  // MARK: Rate

  /// Limits starts to this rate from now on; nil for no limit.
  func changeRateLocked(_ rate: StartRate?) {
    needPaceLocked().pointee.change(rate, at: clock.now)
    pointee.machine.set(.rated, rate != nil)
    // The burst's drainer starts nothing after its present operation.
    stopBurstLocked()
    applyPaceLocked()
  }

  /// An operation starts.
  @inline(__always)
  func countStartLocked() {
    if pointee.machine.flags.contains(.rated) { countStartForRateLocked() }
  }

  private func countStartForRateLocked() {
    pointee.extra!.pointee.pace!.pointee.countStart(at: clock.now)
    applyPaceLocked()
  }

  /// The moment before which nothing starts, if there is one in the future; otherwise 0.
  var nextStartLocked: Int64 {
    isHeldByPaceLocked ? pointee.extra?.pointee.pace?.pointee.nextStart ?? 0 : 0
  }

  var isHeldByPaceLocked: Bool {
    guard let pace = pointee.extra?.pointee.pace else { return false }
    return !pace.pointee.lets(startAt: clock.now)
  }

  // MARK: Holding

  func needPaceLocked() -> UnsafeMutablePointer<Pace> {
    let extra = needExtra()
    if let pace = extra.pointee.pace { return pace }
    let pace = UnsafeMutablePointer<Pace>.allocate(capacity: 1)
    pace.initialize(to: Pace())
    extra.pointee.pace = pace
    return pace
  }

  /// Holds the lane or lets it go on, as its pace says at this moment.
  func applyPaceLocked() {
    let pace = needPaceLocked()
    let nextStart = pace.pointee.nextStart
    let isHeld = isHeldByPaceLocked
    // Segments are never held, so with segments about, each job is checked when its turn comes.
    pointee.machine.set(.held, isHeld && pointee.extra!.pointee.backlog.segments == 0)
    if !isHeld { pointee.machine.flags.remove(.headBlocked) }
    // A destroyed lane has disarmed its timer and is about to free it.
    if let nextStart, isHeld, !pointee.machine.flags.contains(.destroyed) {
      let timer = pace.pointee.timer ?? .make()
      pace.pointee.timer = timer
      clock.arm(timer, at: nextStart, for: .lane(self, generation: pointee.generation))
    } else if let timer = pace.pointee.timer {
      clock.disarm(timer)
    }
  }

  /// The pace's timer has fired, for the queue of this generation.
  func timerFired(generation: UInt32) {
    pointee.lock.lock()
    if refusalLocked(generation) != nil { return }
    applyPaceLocked()
    unlock()
  }
}
