/// Keeps an observer from retaining the object that it belongs to.
package final class WeakReference<Object: AnyObject>: @unchecked Sendable {
  // Safe to share: it only changes by becoming nil, which is atomic.

  package weak let object: Object?

  package init(_ object: Object) { self.object = object }
}
