import Inturn

/// A value that any thread may read and change, and whose observers see every change in order.
///
///     let price = ConcurrentKVO(100)
///     let observation = price.observe { change in
///       print("from", change.old!, "to", change.new)
///     }
///     price.value = 105
///     price.value += 1
///
/// **Changes in order.** All observers are told the same changes in the same order. The old value
/// of each is the new value of the one before; none is missing, and none is told twice.
///
/// **Reads** never wait for an observer. Those of plain types of up to 128 bytes take no lock.
///
/// **Changes** do not wait for observers that other threads are calling, and are visible to all
/// reads when they return. The thread that makes a change tells the inline observers. If another
/// thread is still telling them of an earlier change, that thread also tells this one, and this
/// change returns at once. The same holds for a change that is made inside an observer: it is told
/// when all observers have been told of the one before it. Observers that keep changing the value
/// in answer to their own changes are reported after 1,000 times in a row. Use
/// ``drain(timeout:fileID:line:)`` to wait until everybody has been told.
///
/// **In place.** A change such as `value += 1` is atomic. Other changes wait until it is done. It must
/// not suspend, as `await f(&price.value)` may: a change that its thread makes meanwhile stops the
/// program. It copies a collection, as readers may hold the old one; use ``RWLockedValue`` for large
/// ones that grow.
///
/// It is also a property wrapper: with `@ConcurrentKVO var price = 100`, the value is `price` and
/// this object is `$price`. With `@ConcurrentKVO(label: "price") var price = 100`, reports name it.
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
    trail = Trail(value, label: label.map { Text($0) })
    self.setsSynchronously = setsSynchronously
    later = LateDelivery()
  }

  /// Creates a value whose changes tell the inline observers before they return.
  ///
  /// - Parameters:
  ///   - value: The initial value.
  ///   - label: Its name in reports.
  public convenience init(_ value: T, label: String? = nil) {
    self.init(value, setsSynchronously: true, label: label)
  }

  /// Creates a value whose observers another thread may call, so the value must be Sendable.
  ///
  /// - Parameters:
  ///   - value: The initial value.
  ///   - setSynchronously: Whether a change tells the inline observers before it returns. If not,
  ///     one of the library's workers does.
  ///   - label: Its name in reports.
  public convenience init(_ value: T, setSynchronously: Bool, label: String? = nil)
  where T: Sendable {
    self.init(value, setsSynchronously: setSynchronously, label: label)
  }

  /// For use as a property wrapper: see ``init(_:label:)``.
  public convenience init(wrappedValue: T, label: String? = nil) {
    self.init(wrappedValue, label: label)
  }

  deinit {
    // Changes left to a worker are told first.
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

  /// The observed value itself, whose value the wrapped property is.
  public var projectedValue: ConcurrentKVO<T> { self }
}

extension ConcurrentKVO: @unchecked Sendable where T: Sendable {
  // Safe to share: the trail is, and the rest does not change.
}
