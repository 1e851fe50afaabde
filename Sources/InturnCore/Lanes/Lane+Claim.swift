/// Offer and claim: how an operation on a hosted lane starts when its body runs in a task of its
/// own.
///
/// A drainer *offers* the next operation and leaves. An offered operation is still pending: a
/// cancel or `max_wait` ends it, and a suspend holds it back. Its task *claims* it first of all,
/// which starts it if it is still next and may start. A refused claim withdraws the offer; whoever
/// makes the next start possible offers again.
extension UnsafeMutablePointer<Lane> {
  /// Offers the next operation, if it is one to be offered and may start. Returns its context,
  /// which the host keeps.
  func offerLocked() -> UInt? {
    guard pointee.machine.canStart(view), nextToOfferLocked() != nil else { return nil }
    if isHeadBlockedLocked() {
      pointee.machine.flags.insert(.headBlocked)
      return nil
    }
    // Looks again: operations that have joined others have been passed over, so another one may be
    // next.
    guard let context = nextToOfferLocked() else { return nil }
    pointee.machine.flags.insert(.offered)
    unsafeDowncast(executor, to: OutsideExecutor.self).host.keep(context)
    return context
  }

  /// The context of the operation that would be offered, or that is offered and not yet claimed.
  func nextToOfferLocked() -> UInt? {
    guard let job = firstJobLocked() else { return nil }
    guard let slot = job.slot else {
      return job.tag == LaneDrainer.claimedTag ? UInt(bitPattern: job.context) : nil
    }
    return slot.loadWord().contains(.claimed) ? nil : UInt(bitPattern: slot.pointee.context)
  }

  /// Starts the operation with this context. Nil when it is not its turn.
  func claim(generation: UInt32, _ context: UInt, whenPlain: () -> Void) -> OutsideExecutor.Claim? {
    pointee.lock.lock()
    if refusalLocked(generation) != nil { return nil }
    pointee.machine.flags.remove(.offered)
    var outbox = Outbox()
    // A drainer that is at work has seen that nothing was offered, or will.
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
      // Nobody has the token yet, and ending it in any other way needs the lock.
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
    // Does what a drainer would do next; nothing else needs one.
    if pointee.machine.scheduled == 0 && pointee.machine.goesStraightOn {
      claim.offered = offerLocked()
    }
    if pointee.pending == 0 { pointee.buffer.release() }
    unlock(&outbox)
    return claim
  }
}

extension OutsideExecutor {
  /// The result of a claim.
  package struct Claim {
    /// Ends the operation. Null for a plain one, which is over for its lane once claimed.
    package var token = Handle(bits: 0)
    /// Whether a cancel-all has marked it instead of ending it. A token knows that itself.
    package var isAskedToEnd = false
    /// The operation that is offered next, if one is.
    package var offered: UInt?
  }
}
