import InturnCore
import Observation
import Synchronization

/// Makes a value visible to `withObservationTracking`, by an observer that is added with the first
/// tracked read.
package final class ValueTracking: Sendable {
  private let registrar = ObservationRegistrar()
  /// Whether an observer has been added. Releasing and acquiring: whoever sees that is told of every
  /// change from then on.
  private let isBegun = Atomic<Bool>(false)

  package init() {}

  /// The subject's tracked value is read. The observation belongs to the value and ends with it.
  package func access<Subject: Observable & AnyObject, Member, Value>(
    _ subject: Subject, _ path: KeyPath<Subject, Member>, _ trail: Trail<Value>
  ) {
    if !isBegun.load(ordering: .acquiring) { begin(subject, path, trail) }
    registrar.access(subject, keyPath: path)
  }

  private func begin<Subject: Observable & AnyObject, Member, Value>(
    _ subject: Subject, _ path: KeyPath<Subject, Member>, _ trail: Trail<Value>
  ) {
    let reference = WeakReference(subject)
    // The path contains nothing that changes.
    nonisolated(unsafe) let path = path
    let observer = TrailObserver<Value>(call: { [registrar] _ in
      guard let subject = reference.object else { return }
      registrar.withMutation(of: subject, keyPath: path) {}
    })
    let observation = trail.observe(TrailManner(), observer)
    // Of several threads that come here at once, one observer stays. The others go only when that
    // one is there.
    if isBegun.exchange(true, ordering: .acquiringAndReleasing), let observation {
      _ = trail.cancel(observation.id, timeoutNanoseconds: 0)
    }
  }
}
