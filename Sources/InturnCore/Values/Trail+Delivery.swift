/// Telling the observers.
extension Trail {
  /// This many changes that answer one another are a runaway loop, which is reported.
  @usableFromInline
  static var runawayDepth: UInt32 { 1000 }

  @usableFromInline
  func reportRunaway() { Report.runaway(value: label, changes: Self.runawayDepth).send() }

  /// Tells of a change, or leaves that to the thread that is delivering, or to `deliver`. Releases
  /// the lock.
  @inlinable @inline(never)
  func tellLocked(old: Value, new: Value, delivers: Bool) {
    let depth = TrailCall.depth(in: self) &+ 1
    let entry = TrailEntry(number: machine.number, depth: depth, old: old, new: new)
    var first: TrailEntry<Value>?
    if delivers { first = machine.begin(entry) } else { machine.postpone(entry) }
    if let first { deliverLocked(first) } else { lock.unlock() }
  }

  /// The same with a single plain observer and nobody delivering: its call has begun.
  @inlinable @inline(never)
  func tellPlainLocked(_ observer: UnsafeRawPointer, _ id: UInt64, old: Value, new: Value) {
    let number = machine.number
    lock.unlock()
    TrailCall.enterAtOnce(self, id) { depth in
      if depth == Self.runawayDepth { reportRunaway() }
      let entry = TrailEntry(number: number, depth: depth, old: old, new: new)
      observer.observer(of: Value.self)._withUnsafeGuaranteedRef { $0.call(entry) }
    }
    lock.lock()
    if !isAwaited && !machine.isFinal && machine.endPlainCall() {
      lock.unlock()
    } else {
      endCallLocked()
      deliverLocked(TrailEntry(number: number, old: old, new: new), isFirst: false)
    }
  }

  /// Tells an entry, and then what waits, until nothing does. The caller is the delivering thread.
  /// Releases the lock.
  @inlinable
  func deliverLocked(_ first: TrailEntry<Value>, isFirst: Bool = true) {
    var entry = first
    if isFirst && entry.depth == Self.runawayDepth { giveUpLock { reportRunaway() } }
    while true {
      var step = machine.next(for: entry)
      if step.action == .over {
        guard let next = machine.nextEntry() else { break }
        // Drops the previous entry, which must not happen under the lock.
        let spent = machine.takeSpent()
        giveUpLock {
          withExtendedLifetime(spent) { entry = next }
          if entry.depth == Self.runawayDepth { reportRunaway() }
        }
        continue
      }
      giveUpLock {
        switch step.action {
        case .call: tell(entry, step)
        case .post: post(step)
        case .discard, .over: break
        }
        // Dropped here, as that may run user code.
        step.heldOld = nil
        step.garbage = nil
      }
      if step.action == .call { endCallLocked() }
    }
    unlockSweeping()
  }

  /// Releases the lock, and lets those go that are told nothing more: all, for whoever has closed the
  /// trail.
  @inlinable
  func unlockSweeping(closing: Bool = false) {
    var bound = UInt64.max
    while var swept = machine.sweep(below: &bound, closing: closing) {
      if isAwaited { wakeLocked() }
      lock.unlockAfterReadingObject()
      for place in swept.gone { release(place) }
      for id in swept.pulled { _ = postMail(id) }
      // Dropped here, as that may run user code.
      swept.gone.removeAll()
      lock.lock()
    }
    if isAwaited { wakeLocked() }
    lock.unlockAfterReadingObject()
  }

  /// Releases the lock, and lets an observation go if it is told nothing more.
  @inlinable
  func unlock(leaving id: UInt64) {
    let gone = machine.leave(id)
    if isAwaited { wakeLocked() }
    lock.unlockAfterReadingObject()
    if let gone { release(gone) }
  }

  /// An observer's call has returned.
  @inlinable
  func endCallLocked() {
    if !machine.callEnded() {
      // In this order, so that whoever waits for the call to end also waits for the context to be
      // destroyed.
      let observer = machine.places[machine.cursor].observer
      let id = machine.places[machine.cursor].id
      giveUpLock { release(observer, id) }
      var gone = [machine.callLeft()]
      if isAwaited { wakeLocked() }
      // The same for what it still held.
      giveUpLock { gone.removeAll() }
    }
    if isAwaited { wakeLocked() }
  }

  /// Releases the lock while it calls `body`, and takes it again.
  @inlinable @inline(__always)
  func giveUpLock(_ body: () -> Void) {
    lock.unlock()
    body()
    lock.lock()
  }

  @inlinable
  func tell(_ entry: TrailEntry<Value>, _ step: TrailMachine<Value>.Step) {
    // The observer stays while its place is running.
    let observer = step.observer.unsafelyUnwrapped.observer(of: Value.self)
    TrailCall.enter(self, step.id, entry.depth, isInline: true) {
      observer._withUnsafeGuaranteedRef { observer in
        if step.isPrior || step.heldOld != nil {
          var entry = entry
          if step.isPrior { entry.kind = .prior }
          if let old = step.heldOld { entry.old = old }
          observer.call(entry)
        } else {
          observer.call(entry)
        }
      }
    }
  }

  /// Asks for a mailbox to be emptied. If nobody will, the observation ends.
  @usableFromInline
  func post(_ step: TrailMachine<Value>.Step) { postAgain(step.id) }

  func postAgain(_ id: UInt64) {
    if postMail(id) { return }
    if cancel(id, timeoutNanoseconds: 0) != .stale { Report.lostObserver(value: label).send() }
  }

  /// False when nobody will empty the mailbox. True also when the observation is gone.
  @usableFromInline
  func postMail(_ id: UInt64) -> Bool {
    lock.lock()
    // Not the observer: whoever cancels it meanwhile releases it, and must be the last to do so.
    var post: TrailObserver<Value>.Post?
    if let index = machine.index(of: id), !machine.places[index].isCancelled {
      post = machine.places[index].observer.observer(of: Value.self)._withUnsafeGuaranteedRef {
        $0.post
      }
    }
    lock.unlockAfterReadingObject()
    return post?(self, id) ?? true
  }

  /// Calls an observer with the contents of its mailbox, as its `post` has arranged.
  package func runMail(_ id: UInt64) {
    let process = ProcessState.current
    // Makes a limited number of calls, then lets other work have its turn.
    for _ in 0..<64 where ProcessState.current == process {
      lock.lock()
      guard let (observer, entry) = machine.beginRun(id) else {
        return unlock(leaving: id)
      }
      let spent = machine.takeSpent()
      lock.unlock()
      withExtendedLifetime(spent) {}
      TrailCall.enter(self, id, entry.depth, isInline: false) {
        observer.observer(of: Value.self)._withUnsafeGuaranteedRef { $0.call(entry) }
      }
      if ProcessState.isForked(since: process) { return }
      lock.lock()
      if !machine.runEnded(id) {
        giveUpLock { release(observer, id) }
        let place = machine.runLeft(id)
        if isAwaited { wakeLocked() }
        lock.unlock()
        withExtendedLifetime(place) {}
        return
      }
      if isAwaited { wakeLocked() }
      lock.unlock()
    }
    if ProcessState.current == process { postAgain(id) }
  }

  /// Releases the observer of a removed place. Called without a lock.
  @inlinable
  func release(_ place: TrailMachine<Value>.Place) {
    place.observer.observer(of: Value.self).release()
  }

  /// The same for an observation that was cancelled during its call: destroying its context counts
  /// as part of the call.
  @inlinable
  func release(_ observer: UnsafeRawPointer, _ id: UInt64) {
    TrailCall.enter(self, id, 0, isInline: false) { observer.observer(of: Value.self).release() }
  }
}
