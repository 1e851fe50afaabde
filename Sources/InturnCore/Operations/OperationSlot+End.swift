import CInturnSystem
import Synchronization

/// Ending an operation, and what follows.
extension UnsafeMutablePointer<OperationSlot> {
  /// The result of `inturn_token_finish_with`, or none.
  struct Payload {
    var code: Int32 = 0
    var cause = Cause.none
    var result: UnsafeMutableRawPointer?
    var resultDestroy: RawDestroy?
  }

  /// Ends the token's operation without a lock. If the work's call has returned already, carries on
  /// the queue, which takes the lane's lock.
  @inline(__always)
  static func end(_ token: Handle, as outcome: Outcome) -> Status {
    guard token.isOf(.token), let slot = Engine.current.pointee.operations.pointer(at: token.index)
    else { return token.refusal(for: .token) }
    var current = slot.pointee.word.load(ordering: .relaxed)
    while !Recorder.isOn {
      let word = OperationWord(bits: current)
      if word.contains(.observed) {
        if outcome == .finished, slot.endSimply(word, token) { return .ok }
        break
      }
      guard case .to(let next) = word.ending(generation: token.generation, outcome: outcome)
      else { break }
      let (exchanged, original) = slot.pointee.word.weakCompareExchange(
        expected: current, desired: next.bits,
        successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
      if exchanged {
        if word.contains(.returned) { slot.lane.carryOn(after: slot) }
        return .ok
      }
      current = original
    }
    if Recorder.isOn { return slot.endRecorded(token, as: outcome) }
    return slot.end(token, as: outcome, payload: Payload())
  }

  /// The same while it is recorded: takes the time before it ends the operation.
  @_optimize(speed)
  @inline(never)
  private func endRecorded(_ token: Handle, as outcome: Outcome) -> Status {
    let time = inturn_system_ticks()
    let word = loadWord()
    guard !word.contains(.observed),
      case .to(let next) = word.ending(generation: token.generation, outcome: outcome),
      pointee.word.compareExchange(
        expected: word.bits, desired: next.bits,
        successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed
      ).exchanged
    else { return end(token, as: outcome, payload: Payload()) }
    Self.traceEnded(token, as: outcome, at: time)
    if word.contains(.returned) { lane.carryOn(after: self) }
    return .ok
  }

  /// Finishes an operation with this word, of which only the time has to be kept. False when there
  /// may be more to do, or another thread was faster.
  @inline(__always)
  private func endSimply(_ word: OperationWord, _ token: Handle) -> Bool {
    guard word.generation == token.generation, word.flags.subtracting(.ofOthers) == .started
    else { return false }
    let claimed = OperationWord(
      bits: word.bits | OperationWord(generation: 0, .claimed, outcome: .finished).bits)
    if !pointee.word.compareExchange(
      expected: word.bits, desired: claimed.bits,
      successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed
    ).exchanged {
      return false
    }
    pointee.endedAt = inturn_system_now()
    let before = set(.ended)
    if before.contains(.returned) {
      lane.carryOn(after: self)
    } else if before.contains(.watched) {
      tellStatesIfThere(token)
    }
    // The slot may belong to another operation by now, whose waiters then wake up for nothing.
    wakeWaiters(before)
    return true
  }

  /// Tells the end at once if the operation is still there. If its lane has settled it meanwhile,
  /// the lane has told it.
  @inline(never)
  private func tellStatesIfThere(_ token: Handle) {
    guard let slot = Self.find(token: token).1 else { return }
    slot.tellStates()
    slot.dropReference()
  }

  /// The same for operations that are observed or end with data.
  ///
  /// - Parameter announce: Called once, without a lock, with this call's result, after it is
  ///   decided and before the queue goes on.
  @inline(never)
  func end(
    _ token: Handle, as outcome: Outcome, payload: Payload, announce: ((Status) -> Void)? = nil
  ) -> Status {
    let time = Recorder.isOn ? inturn_system_ticks() : 0
    var current = pointee.word.load(ordering: .acquiring)
    while true {
      let word = OperationWord(bits: current)
      let change = word.ending(generation: token.generation, outcome: outcome)
      guard case .to(var next) = change else {
        var refusal = Status.stale
        if case .refused(let status) = change, token.generation != 0 { refusal = status }
        announce?(refusal)
        if word.generation == token.generation && word.contains(.placeHeld) {
          lane.takePlaceBack(from: self, generation: token.generation)
        }
        return refusal
      }
      if payload.result != nil || payload.resultDestroy != nil || payload.code != 0
        || announce != nil
      {
        // There is data to write, so a burst must not go on to the next operation.
        next = next.removing(.ended).adding(.attention)
      }
      let (exchanged, original) = pointee.word.weakCompareExchange(
        expected: current, desired: next.bits,
        successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
      if exchanged {
        if time != 0 { Self.traceEnded(token, as: outcome, at: time) }
        if !next.contains(.ended) {
          pointee.cause = payload.cause
          if outcome == .cancelled && word.contains(.cancelRequested) {
            pointee.cause = requestCause
          }
          pointee.code = payload.code
          // The result of an earlier attempt that failed.
          let (earlier, destroyEarlier) = (pointee.result, pointee.resultDestroy)
          pointee.result = payload.result
          pointee.resultDestroy = payload.resultDestroy
          announce?(.ok)
          publishEnd()
          if let destroyEarlier { destroyEarlier(earlier) }
        } else if word.contains(.returned) {
          lane.carryOn(after: self)
        }
        return .ok
      }
      current = original
    }
  }

  /// Why the operation was asked to end. The cause was written before the request was set.
  var requestCause: Cause { pointee.details?.pointee.requestCause ?? .request }

  /// Sets `ended`, wakes waiters, and carries on the queue if the work has returned.
  private func publishEnd() {
    let lane = self.lane
    let word = loadWord()
    // An operation that was enqueued without a time does not need the others.
    if word.contains(.observed) && (word.contains(.ownClock) || pointee.enqueuedAt != 0) {
      // Most queues use the system's clock, which is read without the lane.
      pointee.endedAt = word.contains(.ownClock) ? lane.clock.now : inturn_system_now()
    }
    // Once `ended` is set, the caller's reference alone may not keep the slot.
    addReference()
    let before = set(.ended)
    if before.contains(.returned) {
      lane.carryOn(after: self)
    } else if before.contains(.watched) {
      tellStates()
    }
    if !before.contains(.restarting) { wakeWaiters(before) }
    dropReference()
  }

  /// Nil when no place is held, or the slot has another generation.
  func releasePlaceLocked(generation: UInt32? = nil) -> OperationWord? {
    change {
      $0.contains(.placeHeld) && $0.generation == generation ?? $0.generation
        ? $0.removing(.placeHeld) : nil
    }
  }

  @inline(__always)
  func wakeWaiters(_ word: OperationWord) {
    if word.contains(.waitedFor) { wakeWaitersSlowly() }
  }

  @inline(never)
  private func wakeWaitersSlowly() { wakeups.advance() }

  /// The address stays valid: an atomic never moves, and a slot's memory is never freed.
  var wakeups: WakeWord {
    withUnsafePointer(to: pointee.wakeups) { WakeWord(mutating: $0) }
  }

  /// Ends the operation on the engine's behalf, under the lane's lock: a cancel before the start, a
  /// deadline, a destroyed queue. Returns the word from before `ended` was set, whose `returned`
  /// says who carries on. Nil when the end is decided already.
  func cutOffLocked(
    _ outcome: Outcome, cause: Cause, holdingPlace: Bool = false, payload: Payload = Payload(),
    _ outbox: inout Outbox
  ) -> OperationWord? {
    guard change({ $0.cutOff(outcome: outcome, holdingPlace: holdingPlace) }) != nil
    else { return nil }
    pointee.cause = cause
    pointee.code = payload.code
    // An earlier failed attempt may have left a result, which is destroyed with the slot.
    if pointee.resultDestroy == nil { pointee.result = payload.result }
    if loadWord().contains(.observed) { pointee.endedAt = lane.nowLocked }
    if Recorder.isOn {
      Self.traceEnded(handle(.token), as: outcome, at: inturn_system_ticks())
    }
    let before = set(.ended)
    lane.stageStatesLocked(of: self, &outbox)
    wakeWaiters(before)
    return before
  }

  var countOfAttempts: UInt32 {
    // The leader has ended and is kept.
    if pointee.cause == .joined { return groups!.pointee.party!.leader.countOfAttempts }
    return plan?.pointee.attempts ?? attemptsWithoutPlan
  }

  /// The end as it is passed to callbacks and waiters. The operation has ended.
  func makeEnd() -> OperationEnd {
    OperationEnd(
      outcome: loadWord().outcome!, cause: pointee.cause, code: pointee.code,
      result: pointee.result, label: pointee.details?.pointee.label.map { UnsafePointer($0) },
      attempts: countOfAttempts,
      enqueuedAt: pointee.enqueuedAt, startedAt: pointee.startedAt, endedAt: pointee.endedAt)
  }
}
