import InturnCore
import Observation
import Synchronization

/// What makes a value one that `withObservationTracking` sees: an observer of it, from the first
/// tracked read on.
final class ValueTracking: Sendable {
  let registrar = ObservationRegistrar()
  /// Whether the observer is there, or is about to be.
  private let isBegun = Atomic<Bool>(false)

  /// True once.
  func begin() -> Bool { !isBegun.exchange(true, ordering: .relaxed) }
}

extension ConcurrentKVO: Observable {
  /// The value, read so that Swift's `Observation` sees it: `withObservationTracking`, and what is
  /// built on that, such as SwiftUI's views. Setting it is the same as setting ``value``.
  ///
  /// The handler of `withObservationTracking` is called inside the change, after the value has
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
      if tracking.begin() { beginTracking() }
      tracking.registrar.access(self, keyPath: \.tracked)
      return value
    }
    set { value = newValue }
    _modify { yield &value }
  }

  /// The observation is the value's own and ends with it.
  private func beginTracking() {
    let reference = WeakReference(self)
    let observer = TrailObserver<T>(call: { _ in
      guard let value = reference.object else { return }
      value.tracking.registrar.withMutation(of: value, keyPath: \.tracked) {}
    })
    _ = trail.observe(TrailManner(), observer)
  }
}
