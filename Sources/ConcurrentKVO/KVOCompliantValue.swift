/// An observable value: ``ConcurrentKVO`` with observers that are told by the thread that makes the
/// change, before the change returns.
@propertyWrapper
public final class KVOCompliantValue<T> {
  @usableFromInline let observed: ConcurrentKVO<T>

  /// A value; the label is its name in reports.
  public init(_ value: T, label: String? = nil) { observed = ConcurrentKVO(value, label: label) }

  /// For use as a property wrapper.
  public convenience init(wrappedValue: T, label: String? = nil) {
    self.init(wrappedValue, label: label)
  }

  /// For a property of an Objective-C object, see ``ConcurrentKVO/init(_:object:key:setSynchronously:)``.
  public init(_ value: T, object: AnyObject, key: String) {
    observed = ConcurrentKVO(value, of: object, key, setsSynchronously: true)
  }

  /// The value; see ``ConcurrentKVO/value``.
  @inlinable
  public var value: T {
    get { observed.value }
    set { observed.value = newValue }
    _modify { yield &observed.value }
  }

  /// The same as ``value``, for a wrapped property.
  @inlinable
  public var wrappedValue: T {
    get { observed.value }
    set { observed.value = newValue }
    _modify { yield &observed.value }
  }

  /// The object with which to observe it and change it atomically.
  public var projectedValue: ConcurrentKVO<T> { observed }

  /// Calls `observer` at each change, like the method of ``ConcurrentKVO/ConcurrentKVO`` with the
  /// same name.
  public func observe(
    _ options: ObservationOptions = [],
    calling observer: @escaping @Sendable (ValueChange<T>) -> Void
  ) -> ValueObservation { observed.observe(options, calling: observer) }

  /// The same, with an observer that is called elsewhere.
  public func observe(
    _ options: ObservationOptions = [], on delivery: ObserverDelivery,
    calling observer: @escaping @Sendable (ValueChange<T>) -> Void
  ) -> ValueObservation where T: Sendable {
    observed.observe(options, on: delivery, calling: observer)
  }
}

extension KVOCompliantValue: @unchecked Sendable where T: Sendable {
  // Safe to share: its only member is.
}
