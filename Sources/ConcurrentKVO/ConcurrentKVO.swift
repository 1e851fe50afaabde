import Inturn

/// A value that any thread may read and change, and whose observers see its true trail of changes.
///
///     let price = ConcurrentKVO(100)
///     let observation = price.observe { change in
///       print("from", change.old!, "to", change.new)
///     }
///     price.value = 105
///     price.value += 1
///
/// **Trail.** All observers are told the same changes in the same order. The old value of each is
/// the new value of the one before; none is missing, none comes twice.
///
/// **Reads** never wait for an observer. Those of plain types of up to 128 bytes take no lock.
///
/// **Changes** wait for no observer that another thread is calling, and are visible to all reads
/// when they return. The thread that makes a change tells the inline observers; when another
/// thread is telling them of an earlier change, it goes on with this one, and this one's change
/// returns at once. So does a change that is made inside an observer: it is told when all
/// observers have been told of the one before it. Observers that go on changing the value in
/// answer to their own changes are reported once they have done so 1,000 times in a row. Use
/// ``drain(timeout:)`` to wait until everybody has been told.
///
/// **In place.** A change such as `value += 1` is atomic. Other changes wait until it is over.
///
/// It is also a property wrapper: `@ConcurrentKVO var price = 100`, with the value at `price` and
/// this object at `$price`.
@propertyWrapper
public final class ConcurrentKVO<T> {
  @usableFromInline let trail: Trail<T>
  /// Whether the thread that makes a change tells the observers.
  @usableFromInline let setsSynchronously: Bool
  let later: LateDelivery
  let tracking = ValueTracking()
  #if canImport(ObjectiveC)
    /// Set once, in the initialiser.
    @usableFromInline var bridge: KeyValueBridge<T>?
  #endif

  init(_ value: T, setsSynchronously: Bool, label: String?) {
    trail = Trail(value, label: label)
    self.setsSynchronously = setsSynchronously
    later = LateDelivery()
  }

  /// Makes a value whose changes tell the inline observers before they return.
  ///
  /// - Parameters:
  ///   - value: What it is to begin with.
  ///   - label: What reports call it.
  public convenience init(_ value: T, label: String? = nil) {
    self.init(value, setsSynchronously: true, label: label)
  }

  /// Makes a value of which another thread may tell: it must be one that may go there.
  ///
  /// - Parameters:
  ///   - value: What it is to begin with.
  ///   - setSynchronously: Whether a change tells the inline observers before it returns. If not, a
  ///     worker of the library does.
  ///   - label: What reports call it.
  public convenience init(_ value: T, setSynchronously: Bool, label: String? = nil)
  where T: Sendable {
    self.init(value, setsSynchronously: setSynchronously, label: label)
  }

  /// For use as a property wrapper: see ``init(_:label:)``.
  public convenience init(wrappedValue: T) { self.init(wrappedValue) }

  deinit {
    // What has been left to a worker is told before.
    let trail = trail
    if !later.enqueueLast({ trail.close() }) { trail.close() }
  }

  /// The value. Setting it is a change, even to an equal value.
  @inlinable
  public var value: T {
    get {
      #if canImport(ObjectiveC)
        if let shown = bridge?.shown { return shown }
      #endif
      return trail.value
    }
    set {
      if setsSynchronously { trail.set(newValue) } else { setLater(newValue) }
    }
    _modify {
      var value = trail.beginInPlace()
      defer { if trail.endInPlace(value, delivers: setsSynchronously) { deliverLater() } }
      yield &value
    }
  }

  /// The same as ``value``.
  @inlinable
  public var wrappedValue: T {
    get { value }
    set { value = newValue }
    _modify { yield &value }
  }

  /// The observed value itself, of which a wrapped property is the value.
  public var projectedValue: ConcurrentKVO<T> { self }
}

extension ConcurrentKVO: @unchecked Sendable where T: Sendable {
  // Safe to share: the trail is, and the rest does not change.
}
