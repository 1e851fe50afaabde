import Inturn

/// Observing.
extension ConcurrentKVO {
  /// Calls `observer` with each change, until the observation is cancelled or released: within the
  /// change, on the thread that makes it.
  ///
  /// The observer may read and change the value, observe it, and end observations, its own
  /// included. It is never called by two threads at once.
  ///
  /// - Parameters:
  ///   - options: What the observer is told of.
  ///   - observer: What is called. It is released when the observation is over and no call is under
  ///     way.
  @inlinable
  public func observe(
    _ options: ObservationOptions = [],
    calling observer: @escaping @Sendable (ValueChange<T>) -> Void
  ) -> ValueObservation {
    observe(options, on: .inline, entry: { observer(ValueChange($0)) })
  }

  /// The same, with an observer that is called elsewhere: the value must be Sendable.
  ///
  /// - Parameters:
  ///   - options: What the observer is told of.
  ///   - delivery: Where it is called.
  ///   - observer: What is called.
  @inlinable
  public func observe(
    _ options: ObservationOptions = [], on delivery: ObserverDelivery,
    calling observer: @escaping @Sendable (ValueChange<T>) -> Void
  ) -> ValueObservation where T: Sendable {
    observe(options, on: delivery, entry: { observer(ValueChange($0)) })
  }

  @usableFromInline
  func observe(
    _ options: ObservationOptions, on delivery: ObserverDelivery,
    entry call: @escaping (TrailEntry<T>) -> Void
  ) -> ValueObservation {
    trail.observe(options, on: delivery, entry: call)
  }

  /// The same, with an observer that is isolated to an actor.
  @inlinable
  public func observe<Isolation: Actor>(
    _ options: ObservationOptions = [], on actor: Isolation,
    calling observer: @escaping @Sendable (isolated Isolation, ValueChange<T>) -> Void
  ) -> ValueObservation where T: Sendable {
    observe(options, on: .actor(actor)) { change in
      actor.assumeIsolated { observer($0, change) }
    }
  }

  /// The same, with an observer of the main actor, which may use what belongs to that.
  ///
  ///     price.observe(.latest, on: MainActor.shared) { change in label.text = "\(change.new)" }
  @inlinable
  public func observe(
    _ options: ObservationOptions = [], on actor: MainActor,
    calling observer: @escaping @Sendable @MainActor (ValueChange<T>) -> Void
  ) -> ValueObservation where T: Sendable {
    observe(options, on: .actor(actor)) { change in
      MainActor.assumeIsolated { observer(change) }
    }
  }

  /// Waits until every change made so far has been told to every observer, and then returns true.
  /// Readers of sequences and observers of several values are not waited for.
  ///
  /// Returns false on a time-out, and when it would wait for itself: inside an observer of this
  /// value, or round a ring of waits, which is reported.
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

  /// Waits until the predicate accepts the value, and returns it: the present value, or that of a
  /// later change, none of which is skipped.
  ///
  /// Returns nil on a time-out, and when it would wait for itself: inside an inline observer of
  /// this value, or round a ring of waits, which is reported. The predicate is called on this
  /// thread. Asynchronous code uses ``values(buffering:)`` instead.
  public func wait<Failure: Error>(
    timeout: Duration? = nil, fileID: StaticString = #fileID, line: UInt = #line,
    until predicate: (T) throws(Failure) -> Bool
  ) throws(Failure) -> T? {
    try Site(fileID, line).waiting { () throws(Failure) in
      try trail.wait(timeoutNanoseconds: timeout?.clampedNanoseconds ?? -1, until: predicate).1
    }
  }
}

extension ConcurrentKVO where T: Sendable {
  /// The present value and each new one, until the value is gone or the reading task is cancelled.
  ///
  /// A sequence is for one task at a time; a second task that reads it meanwhile stops the program.
  ///
  /// - Parameter policy: What is kept for a slow reader: everything, the oldest, or the newest.
  ///   With `.bufferingNewest(1)`, changes are joined, so there is no gap between them. With other
  ///   limits, what a slow reader has no room for is missing.
  public func values(
    buffering policy: AsyncStream<T>.Continuation.BufferingPolicy = .unbounded
  ) -> AsyncStream<T> { trail.values(buffering: policy) }

  /// The present value, and each change with its old value; see ``values(buffering:)``.
  ///
  /// A sequence is for one task at a time; a second task that reads it meanwhile stops the program.
  ///
  /// - Parameter policy: As there.
  public func changes(
    buffering policy: AsyncStream<ValueChange<T>>.Continuation.BufferingPolicy = .unbounded
  ) -> AsyncStream<ValueChange<T>> { trail.changes(buffering: policy) }
}
