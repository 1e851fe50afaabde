import Inturn

/// The values of several objects at one moment.
public func snapshot<each T>(of values: repeat ConcurrentKVO<each T>) -> (repeat each T) {
  snapshot(ofTrails: repeat (each values).trail)
}

/// Observes several values of an object as one: calls `observer` with snapshots of all of them.
///
///     observe(player, \.$track, \.$position) { change in
///       let (track, position) = change.new
///       …
///     }
///
/// Each snapshot shows the values at one moment, none is older than the one before, and the last
/// one shows the present values. A snapshot may contain several changes. As with one value, the old
/// snapshot of each change is the new one of the change before.
///
/// - Parameters:
///   - object: The object with the values.
///   - paths: Where the values are in it: their `$` projections, or properties that hold them.
///   - options: What the observer is told of.
///   - delivery: Where it is called.
///   - observer: What is called.
public func observe<Root, each T: Sendable>(
  _ object: Root, _ paths: repeat KeyPath<Root, ConcurrentKVO<each T>>,
  options: ObservationOptions = [], on delivery: ObserverDelivery = .inline,
  calling observer: @escaping @Sendable (ValueChange<(repeat each T)>) -> Void
) -> ValueObservation {
  SnapshotGroup(repeat object[keyPath: each paths].trail)
    .observe(options, on: delivery, calling: observer)
}
