import InturnCore

/// Several values at one moment: what all of them were at the same time.
public func snapshot<each T>(of values: repeat ConcurrentKVO<each T>) -> (repeat each T) {
  var trails: [TrailBase] = []
  for value in repeat each values { trails.append(value.trail) }
  return TrailBase.withLocks(trails) { (repeat (each values).trail.snapshotLocked.value) }
}

/// Observes several values of an object as one: calls `observer` with snapshots of all of them.
///
///     observe(player, \.$track, \.$position) { change in
///       let (track, position) = change.new
///       …
///     }
///
/// Each snapshot is what the values were at one moment, none is older than the one before, and the
/// last one is what they are. A snapshot may hold several changes. As with one value, the old
/// snapshot of each change is the new one of the change before.
///
/// - Parameters:
///   - object: What has the values.
///   - paths: Where they are in it: their `$` projections, or properties that hold them.
///   - options: What the observer is told of.
///   - delivery: Where it is called.
///   - observer: What is called.
public func observe<Root, each T: Sendable>(
  _ object: Root, _ paths: repeat KeyPath<Root, ConcurrentKVO<each T>>,
  options: ObservationOptions = [], on delivery: ObserverDelivery = .inline,
  calling observer: @escaping @Sendable (ValueChange<(repeat each T)>) -> Void
) -> ValueObservation {
  let group = SnapshotGroup(repeat object[keyPath: each paths])
  return ValueObservation(group.observe(options, on: delivery, calling: observer), keeping: group)
}

/// A value that follows several others.
final class SnapshotGroup<each T: Sendable>: @unchecked Sendable {
  // Safe to share: the members' locks protect `changes`; `observations` is written once, before the
  // group is shared.

  private let members: (repeat Trail<each T>)
  private let trails: [TrailBase]
  private let combined: ConcurrentKVO<(repeat each T)>
  /// How many changes the members had when the last snapshot was taken.
  private var changes: UInt64
  private var observations: [ValueObservation] = []

  init(_ values: repeat ConcurrentKVO<each T>) {
    var trails: [TrailBase] = []
    for value in repeat each values { trails.append(value.trail) }
    self.trails = trails
    members = (repeat (each values).trail)
    var changes: UInt64 = 0
    let first = TrailBase.withLocks(trails) {
      for value in repeat each values { changes += value.trail.snapshotLocked.number }
      return (repeat (each values).trail.snapshotLocked.value)
    }
    self.changes = changes
    combined = ConcurrentKVO(first)
    let reference = WeakReference(self)
    for value in repeat each values {
      observations.append(value.observe { _ in reference.object?.follow() })
    }
    // What has changed before the last of them was observed.
    follow()
  }

  func observe(
    _ options: ObservationOptions, on delivery: ObserverDelivery,
    calling observer: @escaping @Sendable (ValueChange<(repeat each T)>) -> Void
  ) -> ValueObservation {
    combined.observe(options, on: delivery, calling: observer)
  }

  /// Takes a snapshot, if there is a new one to be had, and tells of it.
  private func follow() {
    // Staged under the members' locks, so that the snapshots come in their order.
    let staged = TrailBase.withLocks(trails) { () -> (old: (repeat each T), Bool)? in
      var changes: UInt64 = 0
      for trail in repeat each members { changes += trail.snapshotLocked.number }
      if changes == self.changes { return nil }
      self.changes = changes
      return combined.trail.stage((repeat (each members).snapshotLocked.value))
    }
    if staged != nil { combined.trail.deliver() }
    withExtendedLifetime(staged) {}
  }
}
