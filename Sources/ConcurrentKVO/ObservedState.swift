import InturnCore

/// A state of the library's own, such as how many operations of a queue are pending, observed with
/// the calls of ``ConcurrentKVO/ConcurrentKVO``. Only the library changes it.
///
///     let pending = queue.states.pendingCount
///     let observation = pending.observe { change in show(change.new) }
///
/// The trail is the order of the changes themselves, since somebody has first asked for this state.
/// The thread that causes a change tells the inline observers, while the library holds no lock and
/// before it goes on with what has caused it: one that enqueues, suspends, cancels, finishes, or is
/// about to start an operation. What changes at one moment is seen so by
/// ``snapshot(of:)-(ObservedState<T>)``.
///
/// It may outlive what it is a state of: then it keeps the last state, its sequences end, and its
/// waits give nil.
public final class ObservedState<T: Sendable>: Sendable {
  let observed: ConcurrentKVO<T>

  /// A state that begins to follow the engine's, as `follow` has it. When that gives no OK, there is
  /// nothing to follow any more, and it stays as it is here.
  package init(
    _ value: T, aspect: UInt32, convert: @escaping @Sendable (RawValue) -> T,
    follow: (StateTrail) -> Status
  ) {
    observed = ConcurrentKVO(value)
    let trail = StateTrail.make(observed.trail, aspect: aspect, convert)
    if follow(trail) != .ok { trail.finish() }
  }

  /// A state that another module of the library tells: by `tell`, which no two threads call at the
  /// same time.
  package init(_ value: T) { observed = ConcurrentKVO(value) }

  package func tell(_ state: T) { observed.value = state }

  /// The state will not change any more.
  package func finish() { observed.trail.finish() }

  /// The state as it is.
  public var value: T { observed.value }

  /// The same, read so that Swift's `Observation` sees it; see ``ConcurrentKVO/ConcurrentKVO/tracked``.
  public var tracked: T { observed.tracked }

  /// Calls `observer` with what changes, until the observation is cancelled or let go of; see
  /// ``ConcurrentKVO/ConcurrentKVO/observe(_:on:calling:)-(_,ObserverDelivery,_)``.
  public func observe(
    _ options: ObservationOptions = [], on delivery: ObserverDelivery = .inline,
    calling observer: @escaping @Sendable (ValueChange<T>) -> Void
  ) -> ValueObservation { observed.observe(options, on: delivery, calling: observer) }

  /// The same, with an observer that is isolated to an actor.
  public func observe<Isolation: Actor>(
    _ options: ObservationOptions = [], on actor: Isolation,
    calling observer: @escaping @Sendable (isolated Isolation, ValueChange<T>) -> Void
  ) -> ValueObservation { observed.observe(options, on: actor, calling: observer) }

  /// Waits until each change that was made so far has been told to each observer; see
  /// ``ConcurrentKVO/ConcurrentKVO/drain(timeout:)``.
  @discardableResult
  public func drain(timeout: Duration? = nil) -> Bool { observed.drain(timeout: timeout) }

  /// Waits until the state is one that the predicate takes, and gives it; see
  /// ``ConcurrentKVO/ConcurrentKVO/wait(timeout:until:)``. Nil, too, when the state will not change
  /// any more.
  public func wait<Failure: Error>(
    timeout: Duration? = nil, until predicate: (T) throws(Failure) -> Bool
  ) throws(Failure) -> T? { try observed.wait(timeout: timeout, until: predicate) }

  /// The state as it is, and each new one, until it will not change any more.
  public func values(buffering: ValueBuffering = .unbounded) -> Values<T> {
    observed.values(buffering: buffering)
  }

  /// The state as it is, and each change with its old state, until there will be none any more.
  public func changes(buffering: ValueBuffering = .unbounded) -> ValueChanges<T> {
    observed.changes(buffering: buffering)
  }
}

/// Several states at one moment: what all of them were at the same time.
public func snapshot<each T: Sendable>(of states: repeat ObservedState<each T>) -> (repeat each T) {
  snapshot(of: repeat (each states).observed)
}

/// Observes several states of an object as one, as the form for values does:
///
///     observe(queue.states, \.pendingCount, \.runningCount) { change in … }
public func observe<Root, each T: Sendable>(
  _ object: Root, _ paths: repeat KeyPath<Root, ObservedState<each T>>,
  options: ObservationOptions = [], on delivery: ObserverDelivery = .inline,
  calling observer: @escaping @Sendable (ValueChange<(repeat each T)>) -> Void
) -> ValueObservation {
  let group = SnapshotGroup(repeat object[keyPath: each paths].observed)
  var states: [any Sendable] = []
  for state in repeat object[keyPath: each paths] { states.append(state) }
  let observation = group.observe(options, on: delivery, calling: observer)
  return ValueObservation(ValueObservation(observation, keeping: group), keeping: states)
}
