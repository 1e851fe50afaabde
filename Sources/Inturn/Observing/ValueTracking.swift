import InturnCore
import Observation
import Synchronization

/// What makes a value one that `withObservationTracking` sees: an observer of it, from the first
/// tracked read on.
package final class ValueTracking: Sendable {
  private let registrar = ObservationRegistrar()
  /// Whether the observer is there, or is about to be.
  private let isBegun = Atomic<Bool>(false)

  package init() {}

  /// The subject's tracked value is read. The observation is the value's own and ends with it.
  package func access<Subject: Observable & AnyObject, Member, Value>(
    _ subject: Subject, _ path: KeyPath<Subject, Member>, _ trail: Trail<Value>
  ) {
    if !isBegun.exchange(true, ordering: .relaxed) {
      let reference = WeakReference(subject)
      // It holds nothing that changes.
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
