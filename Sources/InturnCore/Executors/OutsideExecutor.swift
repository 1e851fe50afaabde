/// Drains a lane from outside the engine: it is told when the lane needs draining, and drains it
/// with a `LaneDrainer`.
package protocol LaneHost: AnyObject, Sendable {
  /// The lane needs one drainer. Called without locks, on any thread, perhaps within the host's own
  /// calls into the engine.
  func laneIsReady(_ turn: OutsideExecutor.Turn)

  /// The operation with this context is offered. The context has to be valid when the host learns
  /// of the offer, even if the operation is cancelled meanwhile. Called under the lane's lock.
  func keep(_ context: UInt)

  /// Whether somebody waits for what is in the lane. Asked under the lane's lock, for reports.
  var isAwaited: Bool { get }

  /// The cancel handler of an operation is due.
  func cancelIsDue(_ notice: OutsideExecutor.CancelNotice)
}

extension LaneHost {
  package var isAwaited: Bool { false }
}

/// The executor of one lane that is drained from outside the engine.
package final class OutsideExecutor: Executor, @unchecked Sendable {
  // Safe to share: it never changes, and its ring stays empty.

  /// One drainer's turn at the lane, which somebody has to take.
  package struct Turn: Sendable {
    nonisolated(unsafe) let lane: Lane.Pointer
  }

  package struct CancelNotice: Sendable {
    nonisolated(unsafe) fileprivate let slot: OperationSlot.Pointer

    /// Calls the handler.
    package func deliver() { _ = slot.deliverNotice() }
  }

  let host: any LaneHost

  /// The host has to live as long as the queue.
  package init(host: any LaneHost) {
    self.host = host
    super.init(label: nil)
  }

  override var isAwaited: Bool { host.isAwaited }

  override var standing: Text { "its tasks have not come to it" }

  override func submit(_ item: ReadyRing.Item) {
    switch item.content {
    case .lane(let lane): host.laneIsReady(Turn(lane: lane))
    case .notices(let slot): host.cancelIsDue(CancelNotice(slot: slot))
    }
  }
}
