/// A trail that shows a state of the engine's: of a queue, an operation or a batch.
///
/// Its owner's lock protects what changes. The owner *stages* each change under that lock, so that
/// the trail gets the changes in the order in which they were made, and *delivers* them without the
/// lock. Nobody else changes the trail.
package final class StateTrail: @unchecked Sendable {
  // Safe to share: as above.

  let trail: TrailBase
  /// Which of its owner's states it shows.
  let aspect: UInt32
  private let begin: (RawValue) -> Void
  private let change: (RawValue) -> TrailStaging
  private let tell: (_ isLast: Bool) -> Void
  private let hasNobody: () -> Bool
  /// The state that was staged last.
  @exclusivity(unchecked) private var state = RawValue.boolean(false)

  private init(
    _ trail: TrailBase, aspect: UInt32, begin: @escaping (RawValue) -> Void,
    change: @escaping (RawValue) -> TrailStaging, tell: @escaping (Bool) -> Void,
    hasNobody: @escaping () -> Bool
  ) {
    self.trail = trail
    self.aspect = aspect
    self.begin = begin
    self.change = change
    self.tell = tell
    self.hasNobody = hasNobody
  }

  /// `convert` turns a state into the trail's type of value. It is called under locks.
  // Not an initialiser: in embedded mode, a class has no generic ones.
  package static func make<Value>(
    _ trail: Trail<Value>, aspect: UInt32, _ convert: @escaping (RawValue) -> Value
  ) -> StateTrail {
    StateTrail(
      trail, aspect: aspect,
      begin: { trail.assume(convert($0)) },
      change: { trail.stageLocked(convert($0)) },
      tell: { isLast in
        trail.deliver()
        if isLast { trail.finish() }
      },
      hasNobody: { trail.isClosed })
  }

  /// Whether nobody uses it any more.
  var isClosed: Bool { hasNobody() }

  /// Sets the state, before anybody else knows the trail.
  func assume(_ state: RawValue) {
    self.state = state
    begin(state)
  }

  func isBehind(_ state: RawValue) -> Bool { !self.state.isIdentical(to: state) }

  /// Stages a change, inside `TrailBase.withLocks`.
  func stageLocked(_ state: RawValue) -> TrailStaging {
    self.state = state
    return change(state)
  }

  /// The state will not change any more. Called without a lock.
  package func finish() { tell(true) }

  /// Tells what was staged; if this is the last, the state will not change any more. Called without
  /// a lock.
  fileprivate func deliver(isLast: Bool) { tell(isLast) }
}

/// A state to be told once the lock is released.
struct StagedState {
  let trail: StateTrail
  /// Whether it will not change any more.
  var isLast = false
}

extension [StagedState] {
  /// Tells all of them, but no more once the process has forked or exits. Called without a lock.
  func deliver() {
    let process = ProcessState.current
    for staged in self where ProcessState.current == process {
      staged.trail.deliver(isLast: staged.isLast)
    }
  }
}

/// The states at one moment. Functions that were passed instead would each have their own `stage`.
enum StateMoment {
  case lane(LaneStates.Moment)
  case operation(OperationSlot.Pointer, OperationWord)
  case batch(RawValue)

  fileprivate func state(_ aspect: UInt32) -> RawValue {
    switch self {
    case .lane(let moment): moment.state(aspect)
    case .operation(let slot, let word): slot.state(aspect, word)
    case .batch(let progress): progress
    }
  }
}

extension [StateTrail] {
  /// Stages the trails whose state has changed, all at one moment, and drops those that are closed.
  /// Called under the owner's lock.
  mutating func stage(_ moment: StateMoment) -> [StagedState] {
    let behind = filter { $0.isBehind(moment.state($0.aspect)) }
    if behind.isEmpty { return [] }
    var staged: [StagedState] = []
    var hasClosed = false
    TrailBase.withLocks(behind.map { $0.trail }) {
      for trail in behind {
        switch trail.stageLocked(moment.state(trail.aspect)) {
        case .staged: staged.append(StagedState(trail: trail))
        case .closed: hasClosed = true
        case .untold: break
        }
      }
    }
    if hasClosed { removeClosed() }
    return staged
  }

  /// The same for the last time.
  mutating func stageLast(_ moment: StateMoment) -> [StagedState] {
    _ = stage(moment)
    defer { self = [] }
    return map { StagedState(trail: $0, isLast: true) }
  }

  /// Adds a trail. Closed ones are only looked for when there is no room, so that adding one costs
  /// the same however many there are.
  mutating func add(_ trail: StateTrail) {
    if count == capacity {
      removeClosed()
      reserveCapacity(2 * count + 4)
    }
    append(trail)
  }

  /// Drops the trails that are closed.
  mutating func removeClosed() { removeAll { $0.isClosed } }
}
