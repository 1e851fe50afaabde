/// Operations that run where their caller is, in a lane that has nothing else to do.
///
/// A visit takes a place like any operation, but has neither slot nor token: it cannot be cancelled
/// and has no deadline. It lasts as long as the caller says.
extension UnsafeMutablePointer<Lane> {
  /// Begins a visit, unless something holds the place, is pending or is to be delivered, or the queue does
  /// not start anything just now.
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

  /// Tells the context of each operation with a slot that runs and whose call has returned, and that
  /// of the one that is offered; or only those of running ones that were asked to end. `body` is
  /// called under the lock and must only copy: until the lock is given up, the engine does not hear
  /// of an end, so that a context which its operation keeps until then is still there.
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
