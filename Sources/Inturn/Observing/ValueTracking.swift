import InturnCore
import Observation
import Synchronization

/// Makes a value visible to `withObservationTracking`, by an observer that is added with the first
/// tracked read.
package final class ValueTracking: Sendable {
  private let registrar = ObservationRegistrar()
  /// Whether the observer has been, or is being, added.
  private let isBegun = Atomic<Bool>(false)

  package init() {}

  /// The subject's tracked value is read. The observation belongs to the value and ends with it.
  package func access<Subject: Observable & AnyObject, Member, Value>(
    _ subject: Subject, _ path: KeyPath<Subject, Member>, _ trail: Trail<Value>
  ) {
    if !isBegun.exchange(true, ordering: .relaxed) {
      let reference = WeakReference(subject)
      // The path contains nothing that changes.
      nonisolated(unsafe) let path = path
      let observer = TrailObserver<Value>(call: { [registrar] _ in
        guard let subject = reference.object else { return }
        registrar.withMutation(of: subject, keyPath: path) {}
      })
      _ = trail.observe(TrailManner(), observer)
    }
    registrar.access(subject, keyPath: path)
  }
}
