/// Who drains a lane without being the engine's: it is told when the lane wants to be drained, and
/// does so with a `LaneDrainer`.
package protocol LaneHost: AnyObject, Sendable {
  /// The lane wants one drainer. Called without locks, by any thread, perhaps inside the host's own
  /// calls of the engine.
  func laneIsReady(_ turn: OutsideExecutor.Turn)

  /// An operation of this context is offered: it is to be there when its host hears of that, even if
  /// it is cancelled meanwhile. Called under the lane's lock.
  func keep(_ context: UInt)

  /// The cancel handler of an operation is due.
  func cancelIsDue(_ notice: OutsideExecutor.CancelNotice)
}

/// The executor of one lane that is drained from outside the engine.
package final class OutsideExecutor: Executor, @unchecked Sendable {
  // Safe to share: nothing of it changes; its ring stays empty.

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

  /// The host lives as long as the queue.
  package init(host: any LaneHost) {
    self.host = host
    super.init(label: nil)
  }

  override var standing: String { "its tasks have not come to it" }

  override func submit(_ item: ReadyRing.Item) {
    switch item.content {
    case .lane(let lane): host.laneIsReady(Turn(lane: lane))
    case .notices(let slot): host.cancelIsDue(CancelNotice(slot: slot))
    }
  }
}
