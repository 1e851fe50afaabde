import Inturn

extension ConcurrentKVO {
  /// Creates the value of an object's property, as in the original package.
  ///
  /// On Apple's systems, if the object is an `NSObject`, changes drive key-value observing of its
  /// property `key`, whose getter reads ``value``: while the observers of a change are being told,
  /// the getter returns the old and the new value of that very change. The object may be
  /// deallocated before the value. On other systems the object is not used, and the key is the
  /// value's name in reports.
  ///
  /// - Parameters:
  ///   - value: The initial value.
  ///   - object: The object with the property. Not retained.
  ///   - key: The property's name.
  ///   - setSynchronously: Whether a change tells the observers before it returns. If not, one of
  ///     the library's workers does.
  public convenience init(
    _ value: T, object: AnyObject, key: String, setSynchronously: Bool = false
  ) where T: Sendable {
    self.init(value, of: object, key, setsSynchronously: setSynchronously)
  }

  convenience init(_ value: T, of object: AnyObject, _ key: String, setsSynchronously: Bool) {
    self.init(value, setsSynchronously: setsSynchronously, label: key)
    #if canImport(ObjectiveC)
      if let object = object as? NSObject {
        let bridge = KeyValueBridge<T>(object, key)
        self.bridge = bridge
        _ = trail.observe(TrailManner(), TrailObserver<T>(call: { bridge.tell($0) }))
      }
    #endif
  }
}

#if canImport(ObjectiveC)
  import Foundation

  /// Tells key-value observing of a value's changes.
  @usableFromInline
  final class KeyValueBridge<T>: @unchecked Sendable {
    // Safe to share: `lock` protects what changes.

    private weak let object: NSObject?
    private let key: String
    private let lock = NSLock()
    /// The value that the property's getter returns on this thread, which is telling a change.
    private var showing: (thread: Thread, value: T)?

    init(_ object: NSObject, _ key: String) {
      self.object = object
      self.key = key
    }

    /// The value to return instead of the present one, inside the observers of a change.
    @usableFromInline
    var shown: T? {
      lock.lock()
      defer { lock.unlock() }
      guard let showing, showing.thread == Thread.current else { return nil }
      return showing.value
    }

    func tell(_ entry: TrailEntry<T>) {
      guard let object, let old = entry.old else { return }
      show(old)
      object.willChangeValue(forKey: key)
      show(entry.new)
      object.didChangeValue(forKey: key)
      show(nil)
    }

    private func show(_ value: T?) {
      lock.lock()
      let last = showing
      showing = value.map { (Thread.current, $0) }
      lock.unlock()
      withExtendedLifetime(last) {}
    }
  }
#endif
