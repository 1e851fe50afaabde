internal import InturnCore

/// The place of a task in an actor's queue that cannot be refused, and has neither name nor limits:
/// a plain operation of the lane, which starts without its lock.
///
/// Who starts it hands the lane's drainer over with it, and the task hands that on to the next one
/// when it begins. The operation is over for the lane then, and the core knows that it runs.
final class Ticket: OwnedFrame, @unchecked Sendable {
  // Safe to share: as its superclass; `drainer` is written before the stage says that the ticket is
  // granted, and the core's lock protects the links.

  private nonisolated(unsafe) var drainer: LaneDrainer?
  /// Whether it was asked to end before it started.
  private nonisolated(unsafe) var isMarked = false

  /// Says that a plain operation is a ticket. No priority has this tag.
  static var tag: UInt { 7 }

  /// Puts the ticket into the queue, unless that refuses it.
  func enqueue() -> Status {
    let context = Unmanaged.passRetained(self)
    let status = Engine.enqueueObstinate(
      core.queue, context: UInt(bitPattern: context.toOpaque()) | Self.tag,
      destroy: { Ticket.reference(UInt(bitPattern: $0)).release() })
    if status != .ok { context.release() }
    return status
  }

  /// The ticket of a plain operation that has started.
  static func take(_ context: UInt) -> Ticket { reference(context).takeRetainedValue() }

  private static func reference(_ context: UInt) -> Unmanaged<Ticket> {
    .fromOpaque(UnsafeRawPointer(bitPattern: context & ~LaneDrainer.tagMask).unsafelyUnwrapped)
  }

  /// The queue has started the operation, and `drainer` has to go on after it.
  func grant(_ token: Handle, _ drainer: LaneDrainer, isAskedToEnd: Bool) {
    self.drainer = drainer
    isMarked = isAskedToEnd
    grant(token)
  }

  @usableFromInline override func begin() {
    isRun(by: RuntimeTask.current)
    core.begin(self)
    // Later than that, who cancels all finds the ticket himself.
    if isMarked || Engine.isCancelled(token).1 { withUnsafeCurrentTask { $0?.cancel() } }
    let drainer = self.drainer.unsafelyUnwrapped
    self.drainer = nil
    _ = Engine.end(token, as: .finished)
    drainer.plainReturned()
    core.drive(drainer)
  }

  @usableFromInline @discardableResult override func finish() -> Bool {
    letGo()
    core.end(self)
    core.progressed()
    return false
  }
}
