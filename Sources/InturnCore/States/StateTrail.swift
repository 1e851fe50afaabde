/// A trail that tells a state of the engine's: of a queue, of an operation, of a batch.
///
/// Its owner's lock protects what changes. The owner *stages* each change under that lock, so that
/// the trail has the changes in the order in which they were made, and *delivers* after the lock.
/// Nobody else changes the trail.
package final class StateTrail: @unchecked Sendable {
  // Safe to share: as above.

  let trail: TrailBase
  /// Which of its owner's states it is.
  let aspect: UInt32
  private let begin: (RawValue) -> Void
  private let change: (RawValue) -> TrailStaging
  private let tell: (_ isLast: Bool) -> Void
  private let hasNobody: () -> Bool
  /// What was told last.
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

  /// `convert` makes a state the trail's kind of value. It is called under locks.
  // Not an initialiser: in embedded mode a class has no generic ones.
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

  /// Whether nobody has it any more.
  var isClosed: Bool { hasNobody() }

  /// Says what the state is, before anybody else knows the trail.
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

  /// The state will not change any more. No lock is held.
  package func finish() { tell(true) }

  /// Tells what was staged; the state will not change any more, if this is the last. No lock is
  /// held.
  fileprivate func deliver(isLast: Bool) { tell(isLast) }
}

/// What is to be told of a state once the lock is given up.
struct StagedState {
  let trail: StateTrail
  /// It will not change any more.
  var isLast = false
}

extension [StagedState] {
  /// Tells all of it. No lock is held.
  func deliver() { for staged in self { staged.trail.deliver(isLast: staged.isLast) } }
}

extension [StateTrail] {
  /// Makes those of them that are behind follow, all at one moment. Those that nobody has any more
  /// are dropped. Called under the owner's lock.
  mutating func stage(_ state: (UInt32) -> RawValue) -> [StagedState] {
    let behind = filter { $0.isBehind(state($0.aspect)) }
    if behind.isEmpty { return [] }
    var staged: [StagedState] = []
    var hasClosed = false
    TrailBase.withLocks(behind.map { $0.trail }) {
      for trail in behind {
        switch trail.stageLocked(state(trail.aspect)) {
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
  mutating func stageLast(_ state: (UInt32) -> RawValue) -> [StagedState] {
    _ = stage(state)
    defer { self = [] }
    return map { StagedState(trail: $0, isLast: true) }
  }

  /// Adds one. Those that nobody has any more are looked for when there is no room: so each costs the
  /// same, however many there are.
  mutating func add(_ trail: StateTrail) {
    if count == capacity {
      removeClosed()
      reserveCapacity(2 * count + 4)
    }
    append(trail)
  }

  /// Drops those that nobody has any more.
  mutating func removeClosed() { removeAll { $0.isClosed } }
}
