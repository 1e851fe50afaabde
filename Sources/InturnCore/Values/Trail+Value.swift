import Synchronization

/// Reading and changing the value.
extension Trail {
  /// The value as it is. Reads never wait for an observer, and only for a moment, if at all, for a
  /// change.
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
    // What is let go of here may run code of the user's: after the lock.
    withExtendedLifetime(exchange(new)) {}
  }

  /// Changes the value, and gives the old one.
  @inlinable
  package func exchange(_ new: Value) -> Value {
    lockForChange()
    return changeLocked(new, delivers: true).old
  }

  /// Changes the value under a lock of the caller's. After that lock, `deliver` is due if this says
  /// so, and so is letting go of the old value.
  @inlinable
  package func stage(_ new: Value) -> (old: Value, isToBeDelivered: Bool) {
    lockForChange()
    return changeLocked(new, delivers: false)
  }

  /// What has come of a change that depended on what the value was.
  @usableFromInline
  package enum Replacement {
    /// Another change was faster.
    case failed
    case done
    /// It is done, and `deliver` is due.
    case staged
  }

  /// Changes the value unless it has been changed since it had this number.
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

  /// Tells of what was staged.
  @inlinable
  package func deliver() {
    lock.lock()
    if let entry = machine.resume() { deliverLocked(entry) } else { lock.unlock() }
  }

  /// Begins a change in place, and gives a copy of the value to change. Until `endInPlace`, reads
  /// get the value as it was, and other changes wait.
  @inlinable
  package func beginInPlace() -> Value {
    lockForChange()
    holder = Self.thisThread
    let value = stored
    lock.unlockAfterReadingObject()
    return value
  }

  /// Ends a change in place. `deliver` is due when this says so.
  @inlinable
  package func endInPlace(_ new: Value, delivers: Bool) -> Bool {
    lock.lock()
    holder = 0
    if isAwaited { wakeLocked() }
    let (old, isToBeDelivered) = changeLocked(new, delivers: delivers)
    withExtendedLifetime(old) {}
    return isToBeDelivered
  }

  /// Changes the value, tells of that or leaves it for `deliver`, and gives the lock up.
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

  /// Puts a new value in the place of the old one, and gives that.
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
