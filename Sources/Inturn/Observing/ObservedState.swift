import InturnCore
import Observation

/// A state of the library's own, such as how many operations of a queue are pending, to be observed.
/// Only the library changes it.
///
///     let pending = queue.states.pendingCount
///     let observation = pending.observe { change in show(change.new) }
///
/// The trail is the order of the changes themselves, since somebody has first asked for this state.
/// The thread that causes a change tells the inline observers, while the library holds no lock and
/// before it goes on with what has caused it: one that enqueues, suspends, cancels, finishes, or is
/// about to start an operation. What changes at one moment is seen so by ``snapshot(of:)``.
///
/// It may outlive what it is a state of: then it keeps the last state, its sequences end, and its
/// waits give nil. The module ConcurrentKVO has values of the program's own, with the same calls.
public final class ObservedState<T: Sendable>: Sendable {
  let trail: Trail<T>
  private let tracking = ValueTracking()

  /// A state that begins to follow the engine's, as `follow` has it. When that gives no OK, there is
  /// nothing to follow any more, and it stays as it is here.
  package init(
    _ value: T, aspect: UInt32, convert: @escaping @Sendable (RawValue) -> T,
    follow: (StateTrail) -> Status
  ) {
    trail = Trail(value)
    let state = StateTrail.make(trail, aspect: aspect, convert)
    if follow(state) != .ok { state.finish() }
  }

  /// A state that another module of the library tells: by `tell`, which no two threads call at the
  /// same time.
  package init(_ value: T) { trail = Trail(value) }

  deinit { trail.close() }

  package func tell(_ state: T) { trail.set(state) }

  /// The state will not change any more.
  package func finish() { trail.finish() }

  /// The state as it is.
  public var value: T { trail.value }

  /// The same, read so that Swift's `Observation` sees it: `withObservationTracking`, and what is
  /// built on that, such as SwiftUI's views. Their handlers are called inside the change.
  public var tracked: T {
    tracking.access(self, \.tracked, trail)
    return value
  }

  /// Calls `observer` with what changes, until the observation is cancelled or let go of.
  ///
  /// The observer may read the state, observe it, and end observations, its own included. It is
  /// never called by two threads at once.
  ///
  /// - Parameters:
  ///   - options: What the observer is told of.
  ///   - delivery: Where it is called; inline for inside each change, on the thread that makes it.
  ///   - observer: What is called. It is let go of when the observation is over and no call is
  ///     under way.
  public func observe(
    _ options: ObservationOptions = [], on delivery: ObserverDelivery = .inline,
    calling observer: @escaping @Sendable (ValueChange<T>) -> Void
  ) -> ValueObservation { trail.observe(options, on: delivery) { observer(ValueChange($0)) } }

  /// The same, with an observer that is isolated to an actor.
  public func observe<Isolation: Actor>(
    _ options: ObservationOptions = [], on actor: Isolation,
    calling observer: @escaping @Sendable (isolated Isolation, ValueChange<T>) -> Void
  ) -> ValueObservation {
    observe(options, on: .actor(actor)) { change in
      actor.assumeIsolated { observer($0, change) }
    }
  }

  /// Waits until each change that was made so far has been told to each observer; true when that
  /// is so. Those who read sequences are not waited for.
  ///
  /// False when the time is over, or when it would wait for itself: inside an observer, and round a
  /// ring of waits, which is reported. It blocks the thread.
  @discardableResult
  public func drain(timeout: Duration? = nil) -> Bool {
    trail.drain(timeoutNanoseconds: timeout?.clampedNanoseconds ?? -1) == .ok
  }

  /// Waits until the state is one that the predicate takes, and gives it: the state as it is, or
  /// that of a change from now on. None of these is left out. It blocks the thread.
  ///
  /// Nil when the time is over, when the state will not change any more, or when it would wait for
  /// itself: inside an inline observer, and round a ring of waits, which is reported.
  public func wait<Failure: Error>(
    timeout: Duration? = nil, until predicate: (T) throws(Failure) -> Bool
  ) throws(Failure) -> T? {
    try trail.wait(timeoutNanoseconds: timeout?.clampedNanoseconds ?? -1, until: predicate).1
  }

  /// The state as it is, and each new one, until it will not change any more.
  ///
  /// - Parameter policy: What waits for a slow reader: everything, the first so many, or the last.
  ///   With room for one, changes are joined, and none is lost by that but what was between.
  public func values(
    buffering policy: AsyncStream<T>.Continuation.BufferingPolicy = .unbounded
  ) -> AsyncStream<T> { trail.values(buffering: policy) }

  /// The state as it is, and each change with its old state, until there will be none any more.
  ///
  /// - Parameter policy: As of ``values(buffering:)``.
  public func changes(
    buffering policy: AsyncStream<ValueChange<T>>.Continuation.BufferingPolicy = .unbounded
  ) -> AsyncStream<ValueChange<T>> { trail.changes(buffering: policy) }
}

extension ObservedState: Observable {}

/// Several states at one moment: what all of them were at the same time.
public func snapshot<each T: Sendable>(of states: repeat ObservedState<each T>) -> (repeat each T) {
  snapshot(ofTrails: repeat (each states).trail)
}

/// Observes several states of an object as one: calls `observer` with snapshots of all of them.
///
///     observe(queue.states, \.pendingCount, \.runningCount) { change in … }
///
/// Each snapshot is what the states were at one moment, none is older than the one before, and the
/// last one is what they are. A snapshot may hold several changes.
///
/// - Parameters:
///   - object: What has the states.
///   - paths: Where they are in it.
///   - options: What the observer is told of.
///   - delivery: Where it is called.
///   - observer: What is called.
public func observe<Root, each T: Sendable>(
  _ object: Root, _ paths: repeat KeyPath<Root, ObservedState<each T>>,
  options: ObservationOptions = [], on delivery: ObserverDelivery = .inline,
  calling observer: @escaping @Sendable (ValueChange<(repeat each T)>) -> Void
) -> ValueObservation {
  var states: [any Sendable] = []
  for state in repeat object[keyPath: each paths] { states.append(state) }
  let group = SnapshotGroup(repeat object[keyPath: each paths].trail)
  return ValueObservation(
    group.observe(options, on: delivery, calling: observer), keeping: states)
}
