import Inturn

extension ConcurrentKVO {
  /// Makes the value of a property of an object, as the original package has it.
  ///
  /// On Apple's systems, when the object is an `NSObject`, the changes drive key-value observing of
  /// its property `key`, whose getter reads ``value``: while the observers of a change are being
  /// told, that gives the old and the new value of this very change. The object may go before the
  /// value does. On other systems the object is not used, and the key is what reports call the
  /// value.
  ///
  /// - Parameters:
  ///   - value: What it is to begin with.
  ///   - object: The object whose property it is. Not kept.
  ///   - key: The property's name.
  ///   - setSynchronously: Whether a change tells the observers before it returns. If not, a worker
  ///     of the library does.
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
    /// What the property's getter is to give to this thread, which is telling of a change.
    private var showing: (thread: Thread, value: T)?

    init(_ object: NSObject, _ key: String) {
      self.object = object
      self.key = key
    }

    /// What to read instead of the value, inside the observers of a change.
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
