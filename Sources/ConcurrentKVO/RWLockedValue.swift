import Inturn

/// A value that many threads may read at once, and that one at a time may change. It may be
/// noncopyable. Changes cannot be observed: see ``ConcurrentKVO``.
///
/// Inside ``read(_:)`` and ``modify(_:)``, the value belongs to the caller. Using the same value
/// again in there deadlocks, and so does a ring of values that wait for each other.
public final class RWLockedValue<T: ~Copyable> {
  private let lock = ReadWriteLock()
  /// `lock` protects it.
  @exclusivity(unchecked) private var stored: T

  /// Takes over a value.
  public init(_ value: consuming T) { stored = value }

  /// Calls `body` with the value, together with other readers, while nobody changes it.
  public func read<Result: ~Copyable, Failure: Error>(
    _ body: (borrowing T) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lockForReading()
    defer { lock.unlockAfterReading() }
    return try body(stored)
  }

  /// Calls `body` with the value to change, while nobody else reads or changes it. If it throws,
  /// its changes remain.
  public func modify<Result: ~Copyable, Failure: Error>(
    _ body: (inout T) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.lockForWriting()
    defer { lock.unlockAfterWriting() }
    return try body(&stored)
  }
}

extension RWLockedValue {
  /// The value. A change in place, such as `value += 1`, is atomic. It must not suspend, as
  /// `await f(&number.value)` may: who uses the value meanwhile blocks a thread that the task may need
  /// to go on.
  public var value: T {
    get {
      lock.lockForReading()
      defer { lock.unlockAfterReading() }
      return stored
    }
    set {
      var new = newValue
      lock.lockForWriting()
      swap(&new, &stored)
      lock.unlockAfterWriting()
      // Releasing the old value may run user code, so it happens without the lock.
      withExtendedLifetime(new) {}
    }
    _modify {
      lock.lockForWriting()
      defer { lock.unlockAfterWriting() }
      yield &stored
    }
  }
}

extension RWLockedValue: @unchecked Sendable where T: Sendable & ~Copyable {
  // Safe to share: `lock` protects the value.
}
