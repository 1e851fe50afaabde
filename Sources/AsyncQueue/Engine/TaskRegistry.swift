import Inturn

/// Operations whose tasks are cancelled together.
@usableFromInline
final class TaskRegistry: @unchecked Sendable {
  // Safe to share: `lock` protects `places`. No function is called while it is held.

  private let lock = BriefLock()
  @exclusivity(unchecked) private var places: [ObjectIdentifier: Place] = [:]

  func add(_ place: Place) {
    lock.withLock { places[ObjectIdentifier(place)] = place }
  }

  func remove(_ place: Place) {
    _ = lock.withLock { places.removeValue(forKey: ObjectIdentifier(place)) }
  }

  /// Cancels the tasks of all places, including those that are just being created. Running ones
  /// come last: the end of one must not let another begin that has not been cancelled yet.
  func cancelAll() {
    var places = lock.withLock { self.places.values.map(\.self) }
    _ = places.partition { $0.hasStarted }
    for place in places { place.askToEnd() }
  }
}
