import Synchronization

/// Reading and changing the value.
extension Trail {
  /// The present value. Reads never wait for an observer, and at most for a moment for a change.
  @inlinable
  package var value: Value {
    if ValueBits<Value>.areWord { return ValueBits<Value>.value(word.load(ordering: .acquiring)) }
    if ValueBits<Value>.areWords, let words, let value = ValueBits<Value>.load(from: words) {
      return value
    }
    return valueUnderLock
  }

  @inlinable
  var valueUnderLock: Value {
    lock.lock()
    let value = stored
    lock.unlockAfterReadingObject()
    return value
  }

  /// The value, and the number of the change that made it.
  @inlinable
  package var snapshot: (value: Value, number: UInt64) {
    lock.lock()
    let value = stored
    let number = machine.number
    lock.unlockAfterReadingObject()
    return (value, number)
  }

  @inlinable
  package func set(_ new: Value) {
    // Dropping the old value may run user code, so it happens without the lock.
    withExtendedLifetime(exchange(new)) {}
  }

  /// Changes the value and returns the old one.
  @inlinable
  package func exchange(_ new: Value) -> Value {
    lockForChange()
    return changeLocked(new, delivers: true).old
  }

  /// Changes the value under a lock of the caller's. After releasing that lock, the caller drops
  /// the old value, and calls `deliver` if told to.
  @inlinable
  package func stage(_ new: Value) -> (old: Value, isToBeDelivered: Bool) {
    lockForChange()
    return changeLocked(new, delivers: false)
  }

  /// The result of a conditional change.
  @usableFromInline
  package enum Replacement {
    /// Another change was faster.
    case failed
    case done
    /// Done, and `deliver` is due.
    case staged
  }

  /// Changes the value if it still has this number.
  @inlinable
  package func replace(
    _ new: Value, ifNumber number: UInt64, delivers: Bool = true
  ) -> Replacement {
    lockForChange()
    if machine.number != number {
      lock.unlock()
      return .failed
    }
    let (old, isToBeDelivered) = changeLocked(new, delivers: delivers)
    withExtendedLifetime(old) {}
    return isToBeDelivered ? .staged : .done
  }

  /// Tells the staged changes.
  @inlinable
  package func deliver() {
    lock.lock()
    if let entry = machine.resume() { deliverLocked(entry) } else { lock.unlock() }
  }

  /// Begins a change in place and returns a copy of the value to change. Until `endInPlace`, reads
  /// get the old value, and other changes wait.
  @inlinable
  package func beginInPlace() -> Value {
    lockForChange()
    holder = Self.thisThread
    let value = stored
    lock.unlockAfterReadingObject()
    return value
  }

  /// Ends a change in place. When true, `deliver` is due.
  @inlinable
  package func endInPlace(_ new: Value, delivers: Bool) -> Bool {
    lock.lock()
    holder = 0
    if isAwaited { wakeLocked() }
    let (old, isToBeDelivered) = changeLocked(new, delivers: delivers)
    withExtendedLifetime(old) {}
    return isToBeDelivered
  }

  /// Changes the value, tells of it or leaves that to `deliver`, and releases the lock.
  @inlinable @inline(__always)
  func changeLocked(_ new: Value, delivers: Bool) -> (old: Value, isToBeDelivered: Bool) {
    let old = replaceLocked(new)
    if machine.places.isEmpty {
      lock.unlock()
      return (old, false)
    }
    if delivers, let (observer, id) = machine.beginPlainCall() {
      tellPlainLocked(observer, id, old: old, new: new)
    } else {
      tellLocked(old: old, new: new, delivers: delivers)
    }
    return (old, !delivers)
  }

  /// Replaces the value and returns the old one.
  @inlinable @inline(__always)
  func replaceLocked(_ new: Value) -> Value {
    var value = new
    swap(&value, &stored)
    if ValueBits<Value>.areWord {
      word.store(ValueBits<Value>.word(new), ordering: .releasing)
    } else if ValueBits<Value>.areWords {
      ValueBits<Value>.store(new, in: words.unsafelyUnwrapped)
    }
    machine.number &+= 1
    return value
  }
}
