/// A task's wait as `WaitGraph` sees it: what it holds up, and what it needs.
///
/// Both functions are called under a lock for as long as the wait lasts; they only read, and release no
/// object that others may have released.
package final class TaskWait: @unchecked Sendable {
  // Safe to share: nothing of its own changes.

  /// An operation that keeps its place until the waits inside it are over.
  package struct Holder: Hashable {
    /// The address of its queue's lane; zero while it is in no queue.
    let lane: UInt
    /// Identifies it among all operations: the address of its slot, or of an object of its own.
    let operation: UInt

    init(_ lane: Lane.Pointer?, _ operation: UInt) {
      self.lane = UInt(bitPattern: lane)
      self.operation = operation
    }

    /// An operation that the engine does not know by itself, by an address of its own.
    package init(at address: UInt, of queue: Handle) {
      self.init(Engine.lane(queue), address)
    }

    /// The operation of a token, while it keeps its place.
    package init?(_ token: Handle) {
      guard let slot = OperationSlot.Pointer.find(token: token).1 else { return nil }
      defer { slot.dropReference() }
      // Read first: once the operation has ended, the slot may belong to another lane.
      let lane = slot.lane
      let word = slot.loadWord()
      if word.contains(.claimed) && !word.contains(.placeHeld) { return nil }
      self.init(lane, UInt(bitPattern: slot))
    }
  }

  /// What has to happen before a wait is over.
  package enum Need {
    /// The end of an operation that is this holder while it runs.
    case end(of: Holder)
    /// One of the queue's places is free: of this many, or of fewer.
    case place(in: Handle, outOf: Int = 1)
    /// The end of an operation, by its handle.
    case operation(Handle)
    /// The end of everything in a queue.
    case quiet(Handle)
    /// The end of a batch, and the call of its completion.
    case batch(Handle)
  }

  /// The operations that it is inside of and that keep their places meanwhile; never more than when
  /// it began.
  let holders: () -> [Holder]
  /// What the wait needs in order to end, at this moment.
  let needs: () -> [Need]
  /// The line that waits.
  let site: Site
  /// Where the operation was enqueued that waits.
  let origin: Site
  /// The operation or queue that it needs, for readers from outside; null if that may change.
  let awaited: Handle

  package init(
    inside holders: @escaping () -> [Holder], needing needs: @escaping () -> [Need],
    at site: Site, ofWorkFrom origin: Site = .unknown, awaiting awaited: Handle = Handle(bits: 0)
  ) {
    self.holders = holders
    self.needs = needs
    self.site = site
    self.origin = origin
    self.awaited = awaited
  }
}
