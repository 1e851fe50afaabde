import Inturn
import Observation

extension ConcurrentKVO: Observable {
  /// The value, read so that Swift's `Observation` sees it: `withObservationTracking`, and what
  /// builds on it, such as SwiftUI's views. Setting it is the same as setting ``value``.
  ///
  /// The handler of `withObservationTracking` is called within the change, after the value has
  /// become the new one. In an `@Observable` class:
  ///
  ///     @Observable final class Model {
  ///       @ObservationIgnored @ConcurrentKVO private var stored = 0
  ///       var count: Int {
  ///         get { $stored.tracked }
  ///         set { $stored.tracked = newValue }
  ///       }
  ///     }
  public var tracked: T {
    get {
      tracking.access(self, \.tracked, trail)
      return value
    }
    set { value = newValue }
    _modify { yield &value }
  }
}
