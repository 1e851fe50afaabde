/// Offer and claim: how an operation of a hosted lane starts whose body has a task of its own.
///
/// A drainer *offers* the operation that is next, and leaves. What is offered is pending: a cancel or
/// `max_wait` ends it, and a suspend holds it back. Its task *claims* it as the first thing that it
/// does: so it starts, if it is still next and may. A claim that is refused takes the offer back; who
/// makes the next start possible offers again.
extension UnsafeMutablePointer<Lane> {
  /// Offers the next operation, if it is to be offered and may start. Its context, which the host keeps.
  func offerLocked() -> UInt? {
    guard pointee.machine.canStart(view), nextToOfferLocked() != nil else { return nil }
    if isHeadBlockedLocked() {
      pointee.machine.flags.insert(.headBlocked)
      return nil
    }
    // Another one may be next now: those that have joined others have been passed over.
    guard let context = nextToOfferLocked() else { return nil }
    pointee.machine.flags.insert(.offered)
    unsafeDowncast(executor, to: OutsideExecutor.self).host.keep(context)
    return context
  }

  /// What it would be, or what is offered and nobody has claimed.
  func nextToOfferLocked() -> UInt? {
    guard let job = firstJobLocked() else { return nil }
    guard let slot = job.slot else {
      return job.tag == LaneDrainer.claimedTag ? UInt(bitPattern: job.context) : nil
    }
    return slot.loadWord().contains(.claimed) ? nil : UInt(bitPattern: slot.pointee.context)
  }

  /// Starts the operation of this context. Nil when it is not its turn.
  func claim(generation: UInt32, _ context: UInt, whenPlain: () -> Void) -> OutsideExecutor.Claim? {
    pointee.lock.lock()
    if refusalLocked(generation) != nil { return nil }
    pointee.machine.flags.remove(.offered)
    var outbox = Outbox()
    // A drainer that is there has seen that nothing was offered, or comes to see it.
    guard pointee.machine.active == 0, pointee.machine.canStart(view),
      nextToOfferLocked() == context, let job = popLocked()
    else {
      unlock(&outbox)
      return nil
    }
    var claim = OutsideExecutor.Claim()
    if let slot = job.slot {
      slot.plan?.pointee.attempts += 1
      beginLocked(slot, &outbox)
      slot.pointee.destroy = nil
      // Nobody has the token yet, and who ends it from outside needs the lock.
      _ = slot.set(.returned)
      _ = slot.dropReferenceWithoutRecycling()
      claim.token = slot.handle(.token)
    } else {
      claim.isAskedToEnd = job.isAskedToEnd
      pointee.pending -= 1
      countStartLocked()
      countLocked(.finished)
      whenPlain()
    }
    // What a drainer would do, which has nothing else to look after.
    if pointee.machine.scheduled == 0 && pointee.machine.goesStraightOn {
      claim.offered = offerLocked()
    }
    if pointee.pending == 0 { pointee.buffer.release() }
    unlock(&outbox)
    return claim
  }
}

extension OutsideExecutor {
  /// What comes of a claim.
  package struct Claim {
    /// Ends the operation. Null for a plain one, which is over for its lane once it is claimed.
    package var token = Handle(bits: 0)
    /// Whether a cancel of all has only marked it; a token says so itself.
    package var isAskedToEnd = false
    /// The operation that is offered next, if one is.
    package var offered: UInt?
  }
}
