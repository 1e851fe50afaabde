/// A state of an operation that can be observed as a value. The numbers are those of
/// `inturn_operation_aspect`.
package enum OperationAspect: UInt32, CaseIterable, Sendable {
  case state = 1
  case progress
}

extension UnsafeMutablePointer<OperationSlot> {
  /// Makes a trail follow a state of the operation from now on. The caller holds a reference.
  func follow(_ trail: StateTrail) -> Status {
    let lane = self.lane
    lane.pointee.lock.lock()
    // An end that this word does not contain is told by whoever ends the operation, once the lock
    // is free.
    let word = set(.watched).adding(.watched)
    let details = needDetailsLocked()
    // If it has ended, this is final; its progress stays.
    trail.assume(state(trail.aspect, word))
    if word.isEnded {
      lane.pointee.lock.unlock()
      [StagedState(trail: trail, isLast: true)].deliver()
      return .ok
    }
    details.pointee.states.add(trail)
    lane.pointee.lock.unlock()
    return .ok
  }

  func state(_ aspect: UInt32, _ word: OperationWord) -> RawValue {
    switch OperationAspect(rawValue: aspect).unsafelyUnwrapped {
    case .state: .integer(Int64(word.state.rawValue))
    case .progress: .progress(pointee.details.unsafelyUnwrapped.pointee.progress)
    }
  }

  /// Stages changes. The lane is locked.
  func stageStatesLocked() -> [StagedState] {
    guard let details = pointee.details, !details.pointee.states.isEmpty else { return [] }
    let word = loadWord()
    var trails: [StateTrail] = []
    swap(&trails, &details.pointee.states)
    let moment = StateMoment.operation(self, word)
    let staged = word.isEnded ? trails.stageLast(moment) : trails.stage(moment)
    details.pointee.states = trails
    return staged
  }

  /// The operation has ended while its work is being called; its lane will not know before the call
  /// returns.
  func tellStates() {
    let lane = self.lane
    let staged = lane.pointee.lock.withLock { stageStatesLocked() }
    staged.deliver()
  }
}
