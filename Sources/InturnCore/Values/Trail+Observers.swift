import Synchronization

/// Observing, and ending that.
extension Trail {
  /// Begins to observe, in the middle of the changes: between the one that the caller gets the
  /// number of, with the value as it is then, and the next. Nil when the trail is closed.
  @inlinable
  package func observe(
    _ manner: TrailManner, _ observer: TrailObserver<Value>
  ) -> (id: UInt64, value: Value, number: UInt64)? {
    // The trail's own reference.
    let name = UnsafeRawPointer(Unmanaged.passRetained(observer).toOpaque())
    lock.lock()
    guard let id = machine.add(name, manner) else {
      lock.unlock()
      Unmanaged.passUnretained(observer).release()
      return nil
    }
    let value = stored
    let number = machine.number
    if manner.initial {
      let target = manner.hasMailbox ? 0 : id
      let entry = TrailEntry(
        number: number, target: target, kind: .initial, old: nil, new: value)
      if !manner.hasMailbox {
        if let first = machine.begin(entry) { deliverLocked(first) } else { lock.unlock() }
      } else {
        // Nothing can be in its mailbox before.
        let step = machine.mail(entry, at: machine.places.count - 1)
        lock.unlock()
        if let step { post(step) }
      }
    } else {
      let gone = machine.takeOver()
      lock.unlockAfterReadingObject()
      for place in gone { release(place) }
    }
    return (id, value, number)
  }

  /// Ends an observation: its observer is never called again, and when this has returned `ok` it
  /// is not being called either, unless by the caller's own callers.
  ///
  /// `deadlock` and `timedOut`: it is still being called. `stale`: it has ended before.
  package func cancel(_ id: UInt64, timeoutNanoseconds: Int64) -> Status {
    lock.lock()
    switch machine.cancel(id) {
    case .gone:
      lock.unlock()
      return .stale
    case .removed(let place):
      if isAwaited { wakeLocked() }
      lock.unlock()
      release(place)
      return .ok
    case .runs:
      lock.unlock()
      if TrailCall.isInside(self, observation: id) { return .ok }
      return sleep(.observers(of: self, .call(id)), timeoutNanoseconds) {
        machine.index(of: id) == nil ? .ok : nil
      }
    }
  }

  /// Ends everything: observations, and waits. A change is still possible, and nobody is told of
  /// it. Those who pull get what they have not taken yet, and then the end.
  package func close() {
    lock.lock()
    let gone = machine.close()
    let pulled = machine.pulledToEnd()
    if isAwaited { wakeLocked() }
    lock.unlock()
    for place in gone { release(place) }
    for place in pulled { wake(pulled: place) }
  }

  /// Closes the trail for its owner, if that says so under no lock, and waits until no observer is
  /// being called; inside one of them, it does not wait. `stale`: the owner has said no.
  /// `deadlock`: nothing has changed.
  package func end(_ mayEnd: () -> Bool) -> Status {
    if TrailCall.isInside(self, observation: nil) {
      if !mayEnd() { return .stale }
      close()
      return .ok
    }
    guard let entry = WaitGraph.enter(.observers(of: self, .calls)) else { return .deadlock }
    defer { WaitGraph.leave(entry) }
    if !mayEnd() { return .stale }
    close()
    return sleep(WaitLimit(timeoutNanoseconds: -1)) { machine.isAnyRunning ? nil : .ok }
  }

  /// Waits until each change that was made before has been told to everybody: those who pull
  /// excepted.
  package func drain(timeoutNanoseconds: Int64) -> Status {
    lock.lock()
    let number = machine.number
    lock.unlock()
    // What was staged may be this thread's to deliver, further up its stack.
    deliver()
    return sleep(.observers(of: self, .calls), timeoutNanoseconds) {
      machine.hasTold(number) ? .ok : nil
    }
  }

  /// Sleeps until the check, which is made under the lock, gives a status. A timeout of zero just
  /// asks.
  private func sleep(
    _ target: WaitGraph.Target, _ timeoutNanoseconds: Int64, until check: () -> Status?
  ) -> Status {
    lock.lock()
    let status = check()
    lock.unlock()
    if let status { return status }
    if timeoutNanoseconds == 0 { return .timedOut }
    guard let entry = WaitGraph.enter(target) else { return .deadlock }
    defer { WaitGraph.leave(entry) }
    return sleep(WaitLimit(timeoutNanoseconds: timeoutNanoseconds), until: check)
  }

  private func sleep(_ limit: WaitLimit, until check: () -> Status?) -> Status {
    while true {
      lock.lock()
      if let status = check() {
        lock.unlock()
        return status
      }
      guard let rest = limit.remaining else {
        lock.unlock()
        return .timedOut
      }
      isAwaited = true
      let seen = wakeups.pointee.load(ordering: .relaxed)
      lock.unlock()
      wakeups.wait(while: seen, timeoutNanoseconds: rest)
    }
  }
}
