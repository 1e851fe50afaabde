import InturnCore
import Observation

/// A state of the library's own that can be observed, such as how many operations of a queue are
/// pending. Only the library changes it.
///
///     let pending = queue.states.pendingCount
///     let observation = pending.observe { change in show(change.new) }
///
/// Changes are told in the order in which they are made, from the first request for this state on.
/// The thread that causes a change (by enqueuing, suspending, cancelling, finishing or being about
/// to start an operation) tells the inline observers before it goes on, while the library holds no
/// lock. If another thread is telling them of an earlier change of this state, that one tells them of
/// this one, too, and nobody waits for it: the next operation may then run before its start is told.
/// ``snapshot(of:)`` sees what changes at one moment together.
///
/// It may outlive the object whose state it is. It then keeps the last state, its sequences end,
/// and its waits return nil. The module ConcurrentKVO has values for programs to change, with the
/// same calls.
public final class ObservedState<T: Sendable>: Sendable {
  let trail: Trail<T>
  private let tracking = ValueTracking()

  /// A state that follows one of the engine's, as arranged by `follow`. If that fails, there is
  /// nothing left to follow, and the state keeps this value.
  package init(
    _ value: T, aspect: UInt32, convert: @escaping @Sendable (RawValue) -> T,
    follow: (StateTrail) -> Status
  ) {
    trail = Trail(value)
    let state = StateTrail.make(trail, aspect: aspect, convert)
    if follow(state) != .ok { state.finish() }
  }

  /// A state that another module of the library changes, by `stage` and `deliver`.
  package init(_ value: T) { trail = Trail(value) }

  deinit { trail.close() }

  /// Changes the state under a lock of the caller's. After releasing that lock, the caller drops
  /// the old state, and calls `deliver`.
  package func stage(_ state: T) -> T { trail.stage(state).old }

  package func deliver() { trail.deliver() }

  /// The state will not change any more.
  package func finish() { trail.finish() }

  /// The present state.
  public var value: T { trail.value }

  /// The present state, read so that Swift's `Observation` sees it: `withObservationTracking`, and
  /// what builds on it, such as SwiftUI's views. Their handlers are called within the change.
  public var tracked: T {
    tracking.access(self, \.tracked, trail)
    return value
  }

  /// Calls `observer` with each change, until the observation is cancelled or released.
  ///
  /// The observer may read the state, observe it, and end observations, its own included. It is
  /// never called by two threads at once.
  ///
  /// - Parameters:
  ///   - options: What the observer is told of.
  ///   - delivery: Where it is called; inline means within each change, on the thread that makes
  ///     it.
  ///   - observer: What is called. It is released when the observation is over and no call is under
  ///     way.
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

  /// The same, with an observer of the main actor, which may use what belongs to that.
  ///
  ///     pending.observe(on: MainActor.shared) { change in label.text = "\(change.new)" }
  public func observe(
    _ options: ObservationOptions = [], on actor: MainActor,
    calling observer: @escaping @Sendable @MainActor (ValueChange<T>) -> Void
  ) -> ValueObservation {
    observe(options, on: .actor(actor)) { change in
      MainActor.assumeIsolated { observer(change) }
    }
  }

  /// Waits until every change made so far has been told to every observer, and then returns true.
  /// Readers of sequences and observers of several states are not waited for.
  ///
  /// Returns false on a time-out, and when it would wait for itself: inside an observer, or round a
  /// ring of waits, which is reported. Blocks the thread.
  ///
  /// - Parameters:
  ///   - timeout: Nil for no limit.
  ///   - fileID: Where it waits, for reports.
  ///   - line: The same.
  @discardableResult
  public func drain(
    timeout: Duration? = nil, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    Site(fileID, line).waiting {
      trail.drain(timeoutNanoseconds: timeout?.clampedNanoseconds ?? -1) == .ok
    }
  }

  /// Waits until the predicate accepts the state, and returns it: the present state, or that of a
  /// later change, none of which is skipped. Blocks the thread.
  ///
  /// Returns nil on a time-out, when the state will not change any more, and when it would wait for
  /// itself: inside an inline observer, or round a ring of waits, which is reported.
  public func wait<Failure: Error>(
    timeout: Duration? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    until predicate: (T) throws(Failure) -> Bool
  ) throws(Failure) -> T? {
    try Site(fileID, line).waiting { () throws(Failure) in
      try trail.wait(timeoutNanoseconds: timeout?.clampedNanoseconds ?? -1, until: predicate).1
    }
  }

  /// The present state and each new one, until it will not change any more.
  ///
  /// A sequence is for one task at a time; a second task that reads it meanwhile stops the program.
  ///
  /// - Parameter policy: What is kept for a slow reader: everything, the oldest, or the newest.
  ///   With `.bufferingNewest(1)`, changes are joined, and only those in between are lost.
  public func values(
    buffering policy: AsyncStream<T>.Continuation.BufferingPolicy = .unbounded
  ) -> AsyncStream<T> { trail.values(buffering: policy) }

  /// The present state and each change with its old state, until there will be none any more.
  ///
  /// A sequence is for one task at a time; a second task that reads it meanwhile stops the program.
  ///
  /// - Parameter policy: As of ``values(buffering:)``.
  public func changes(
    buffering policy: AsyncStream<ValueChange<T>>.Continuation.BufferingPolicy = .unbounded
  ) -> AsyncStream<ValueChange<T>> { trail.changes(buffering: policy) }
}

extension ObservedState: Observable {}

/// The values of several states at one moment.
public func snapshot<each T: Sendable>(of states: repeat ObservedState<each T>) -> (repeat each T) {
  snapshot(ofTrails: repeat (each states).trail)
}

/// Observes several states of an object as one: calls `observer` with snapshots of all of them.
///
///     observe(queue.states, \.pendingCount, \.runningCount) { change in … }
///
/// Each snapshot shows the states at one moment, none is older than the one before, and the last
/// one shows the present states. A snapshot may contain several changes.
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
