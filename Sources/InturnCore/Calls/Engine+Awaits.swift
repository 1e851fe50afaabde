/// Waits that tasks make in no call of the engine's, and say so.
extension Engine {
  /// Begins a task's wait for what a handle names, inside the operations of these tokens, innermost
  /// first. Refused as `deadlock`, after a report, if it could never end. The handle is null if all of
  /// the operations have ended, since then nothing is held up.
  package static func beginAwait(
    of awaited: Handle, inside tokens: [Handle]
  ) -> (Status, Handle) {
    let none = Handle(bits: 0)
    guard hasMemory else { return (.noMemory, none) }
    let kept = KeptSlots()
    var origin = Site.unknown
    for token in tokens.reversed() {
      let (status, slot) = OperationSlot.Pointer.find(token: token)
      if let slot {
        kept.slots.append(slot)
        let lane = slot.lane
        lane.pointee.lock.lock()
        if !slot.loadWord().contains(.claimed) { origin = lane.siteLocked(of: slot) }
        lane.pointee.lock.unlock()
      } else if status != .alreadyFinished {
        return (status, none)
      }
    }
    let noted = setAwaited(awaited)
    // It may have gone since.
    guard noted == .ok, let told = told(by: awaited, kept) else { return (noted, none) }
    let need: TaskWait.Need =
      awaited.isOf(.batch) ? .batch(awaited) : told.isOf(.queue) ? .quiet(told) : .operation(told)
    let task = TaskWait(
      inside: { withExtendedLifetime(kept) { tokens.compactMap { TaskWait.Holder($0) } } },
      needing: { [need] }, at: .ofWait, ofWorkFrom: origin, awaiting: told)
    do throws(WaitGraph.Deadlock) {
      guard let wait = try WaitGraph.enter(task).wait else { return (.ok, none) }
      if let handle = current.pointee.awaits.add(wait) { return (.ok, handle) }
      WaitGraph.leave(WaitGraph.Entry(wait: wait))
      return (.noMemory, none)
    } catch {
      return (.deadlock, none)
    }
  }

  package static func endAwait(_ handle: Handle) -> Status {
    guard let wait = current.pointee.awaits.remove(handle) else {
      return handle.refusal(for: .await)
    }
    WaitGraph.leave(WaitGraph.Entry(wait: wait))
    return .ok
  }

  /// The operation or queue whose end is waited for.
  private static func told(by awaited: Handle, _ kept: KeptSlots) -> Handle? {
    if awaited.isOf(.queue) { return awaited }
    if awaited.isOf(.batch) { return batch(awaited).1?.queue }
    let (_, slot) =
      awaited.isOf(.token)
      ? OperationSlot.Pointer.find(token: awaited) : OperationSlot.Pointer.find(operation: awaited)
    guard let slot else { return nil }
    kept.slots.append(slot)
    return Handle(.operation, index: slot.index, generation: slot.firstGeneration)
  }
}

/// References to slots, so that they name the same operations for as long as a wait lasts.
private final class KeptSlots {
  var slots: [OperationSlot.Pointer] = []

  deinit { for slot in slots { slot.dropReference() } }
}
