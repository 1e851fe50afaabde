/// So that an observer does not keep what it belongs to.
package final class WeakReference<Object: AnyObject>: @unchecked Sendable {
  // Safe to share: it does not change but for becoming nil, which is atomic.

  package weak let object: Object?

  package init(_ object: Object) { self.object = object }
}
