/// So that an observer does not keep what it belongs to.
final class WeakReference<Object: AnyObject>: @unchecked Sendable {
  // Safe to share: it does not change but for becoming nil, which is atomic.

  weak let object: Object?

  init(_ object: Object) { self.object = object }
}
