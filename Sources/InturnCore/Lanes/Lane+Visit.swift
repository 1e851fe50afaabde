/// Operations that run in their caller, on a lane that has nothing else to do.
///
/// A visit takes a place like any operation, but has neither slot nor token: it cannot be cancelled
/// and has no deadline. It lasts until its caller ends it.
extension UnsafeMutablePointer<Lane> {
  /// Begins a visit, unless the place is taken, something is pending or to be delivered, or the
  /// queue may not start anything at this moment.
  @inline(__always)
  func enter(generation: UInt32) -> Bool {
    pointee.lock.lock()
    let machine = pointee.machine
    let isFree =
      pointee.generation == generation && pointee.pending == 0
      && (machine.running == 0 || !machine.traits.contains(.oneAtATime))
      && machine.active == 0 && machine.scheduled == 0 && machine.flags.isEmpty
    if isFree {
      pointee.machine.start()
    } else if machine.flags == .unattended {
      return enterUnattendedLocked(generation)
    }
    pointee.lock.unlock()
    return isFree
  }

  @inline(never)
  private func enterUnattendedLocked(_ generation: UInt32) -> Bool {
    pointee.machine.flags.remove(.unattended)
    pointee.lock.unlock()
    Engine.current.pointee.watchdog.begin()
    return enter(generation: generation)
  }

  /// Ends a visit.
  @inline(__always)
  func leaveVisit(as outcome: Outcome) {
    pointee.lock.lock()
    pointee.machine.release()
    countLocked(outcome)
    unlock()
  }

  /// Calls `body` with the context of each running operation that has a slot and whose call has
  /// returned, and of the offered one; or only of running ones that were asked to end. `body` is
  /// called under the lock and must only copy. Until the lock is released, the engine does not
  /// process an end, so a context that its operation keeps until then is still valid.
  func forEachRunning(
    generation: UInt32, areAskedToEnd: Bool, _ body: (UnsafeMutableRawPointer) -> Void
  ) {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    if pointee.generation != generation { return }
    stopBurstLocked()
    if !areAskedToEnd, pointee.machine.flags.contains(.offered), let context = nextToOfferLocked() {
      body(UnsafeMutableRawPointer(bitPattern: context & ~LaneDrainer.tagMask).unsafelyUnwrapped)
    }
    forEachRunningLocked { slot in
      let word = slot.loadWord()
      let isMeant = !areAskedToEnd || word.contains(.cancelRequested)
      if isMeant && word.contains([.observed, .returned]) && !word.contains(.claimed),
        let context = slot.pointee.context
      {
        body(context)
      }
    }
  }
}
