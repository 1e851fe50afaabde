import Synchronization

/// Beginning and ending observations.
extension Trail {
  /// Begins to observe between two changes: after the one whose number is returned, with the value
  /// at that point, and before the next. Nil when the trail is closed.
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
        // Its mailbox is still empty, so this comes first.
        let step = machine.mail(entry, at: machine.places.index(before: machine.places.endIndex))
        lock.unlock()
        if let step { post(step) }
      }
    } else {
      unlock(leaving: id)
    }
    return (id, value, number)
  }

  /// Ends an observation: its observer is never called again. When this has returned `ok`, it is
  /// not being called either, except further up the caller's stack.
  ///
  /// `deadlock` and `timedOut`: it is still being called. `stale`: it had ended already.
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

  /// Ends all observations and waits. Changes are still possible, but nobody is told. Consumers
  /// that pull get what they have not taken yet, and then the end.
  package func close() {
    lock.lock()
    machine.close()
    unlockSweeping(closing: true)
  }

  /// Closes the trail if its owner agrees (`mayEnd`, called without a lock), and waits until no
  /// observer is being called; when called by one of them, it does not wait. `stale`: the owner has
  /// refused. `deadlock`: nothing has changed.
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

  /// Waits until every change so far has been told to every observer, except those that pull.
  package func drain(timeoutNanoseconds: Int64) -> Status {
    let number = lock.withLock { machine.number }
    // Delivering what was staged may be up to this thread, further up its stack.
    deliver()
    var bound: UInt64 = 0
    return sleep(.observers(of: self, .told(number)), timeoutNanoseconds) {
      while true {
        let hasTold = machine.hasTold(number, from: &bound)
        if let hasTold { return hasTold ? .ok : nil }
        giveUpLock {}
      }
    }
  }

  /// Sleeps until the check, which is made under the lock, returns a status. A time-out of zero
  /// only checks.
  private func sleep(
    _ target: WaitGraph.Target, _ timeoutNanoseconds: Int64, until check: () -> Status?
  ) -> Status {
    let status = lock.withLock { check() }
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
      watchedWait(while: seen, timeoutNanoseconds: rest)
    }
  }
}
