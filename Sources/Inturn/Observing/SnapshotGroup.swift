import InturnCore

/// The values of several trails at one moment.
package func snapshot<each T>(ofTrails trails: repeat Trail<each T>) -> (repeat each T) {
  var all: [TrailBase] = []
  for trail in repeat each trails { all.append(trail) }
  return TrailBase.withLocks(all) { (repeat (each trails).snapshotLocked.value) }
}

/// A value that follows several others.
package final class SnapshotGroup<each T: Sendable>: @unchecked Sendable {
  // Safe to share: the members' locks protect `changes`; `observations` is written once, before the
  // group is shared.

  private let members: (repeat Trail<each T>)
  private let trails: [TrailBase]
  private let combined: Trail<(repeat each T)>
  /// How many changes the members had when the last snapshot was taken.
  private var changes: UInt64
  private var observations: [ValueObservation] = []

  package init(_ members: repeat Trail<each T>) {
    self.members = (repeat each members)
    var trails: [TrailBase] = []
    for trail in repeat each members { trails.append(trail) }
    self.trails = trails
    var changes: UInt64 = 0
    let first = TrailBase.withLocks(trails) {
      for trail in repeat each members { changes += trail.snapshotLocked.number }
      return (repeat (each members).snapshotLocked.value)
    }
    self.changes = changes
    combined = Trail(first)
    let reference = WeakReference(self)
    for trail in repeat each members {
      observations.append(trail.observe([], on: .inline) { _ in reference.object?.follow() })
    }
    // Catches up with changes before the last member was observed.
    follow()
  }

  deinit { combined.close() }

  /// The observation retains the group.
  package func observe(
    _ options: ObservationOptions, on delivery: ObserverDelivery,
    calling observer: @escaping @Sendable (ValueChange<(repeat each T)>) -> Void
  ) -> ValueObservation {
    ValueObservation(
      combined.observe(options, on: delivery) { observer(ValueChange($0)) }, keeping: self)
  }

  /// Takes a snapshot, if anything has changed, and tells of it.
  private func follow() {
    // Staged under the members' locks, so that the snapshots are in order.
    let staged = TrailBase.withLocks(trails) { () -> (old: (repeat each T), Bool)? in
      var changes: UInt64 = 0
      for trail in repeat each members { changes += trail.snapshotLocked.number }
      if changes == self.changes { return nil }
      self.changes = changes
      return combined.stage((repeat (each members).snapshotLocked.value))
    }
    if staged != nil { combined.deliver() }
    withExtendedLifetime(staged) {}
  }
}
