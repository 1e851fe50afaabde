import Foundation
import Inturn

/// Presents modal interactions one at a time, in order, while its view is on screen.
///
/// Each interaction is started on the main thread and lasts until it is marked as finished, from any
/// thread; the next one starts when the one before it has ended and the delays have passed. The
/// queue guesses nothing: neither a view that disappears nor a closure that returns ends an
/// interaction.
///
/// A queue starts with its view not visible: it presents nothing before ``onViewDidAppear()``.
/// When the queue is released, pending interactions end as cancelled, and so does the running one
/// for those who wait for it.
///
/// Beside what every `WorkQueue` can, it has priorities, urgent interactions, and its view.
///
/// All members may be used from any thread. What is called on the main thread is called inside
/// `OperationQueue.main`, on the main actor, so the main queue has to be running: in an app it is, and
/// under an asynchronous `main`. Under that, on Linux, another thread than the process's first may
/// serve the main queue, and `Thread.isMainThread` is false there: ask for the main actor instead, as
/// `MainActor.assertIsolated()` does.
public final class InteractionQueue: WorkQueue, EngineQueue {
  /// Marks an interaction as finished. It may be called from any thread and more than once; only the
  /// first call counts. When the last copy goes away uncalled, the interaction ends as abandoned.
  public typealias MarkInteractionFinished = @Sendable () -> Void

  /// Presents an interaction, and sees to it that the callback is called in the end.
  public typealias Block =
    @MainActor (_ markInteractionFinished: @escaping MarkInteractionFinished)
    -> Void

  package let engine: QueueEngine

  /// Makes a queue.
  ///
  /// - Parameters:
  ///   - label: What reports call the queue.
  ///   - settleDelay: From the view's appearing to the first interaction.
  ///   - gap: From the end of one interaction to the start of the next one. An interaction that has
  ///     ended by the time its closure returns has shown nothing and costs no gap.
  ///   - capacity: How many interactions may be pending; nil for no limit.
  ///   - clock: The source of delays, deadlines and timeouts; nil for the system's clock.
  public init(
    label: String? = nil, settleDelay: Duration = .milliseconds(500),
    gap: Duration = .milliseconds(250), capacity: Int? = nil, clock: ManualClock? = nil
  ) {
    precondition(settleDelay >= .zero && gap >= .zero, "A delay must not be negative.")
    engine = QueueEngine(
      .interaction, label: label, capacity: capacity, clock: clock,
      executor: MainDelivery.shared.executor
    ) {
      $0.settle = settleDelay.inNanoseconds
      $0.gap = gap.inNanoseconds
    }
  }

  deinit {
    // Inside one of its own callbacks, what is left is cleared away when that returns. Where waiting
    // for a callback would never end, somebody else waits.
    if Engine.destroy(queue: engine.handle) == .deadlock {
      DispatchQueue.global().async { [engine] in _ = Engine.destroy(queue: engine.handle) }
    }
    engine.finishEvents()
  }

  /// Says that the view has appeared: presenting goes on when the settle delay has passed and the
  /// view is still visible. Nothing happens when it was visible already.
  public func onViewDidAppear() { _ = Engine.setVisible(engine.handle, true) }

  /// Says that the view disappears: when this has returned, no interaction starts until the view has
  /// appeared again and settled.
  ///
  /// The running interaction is not touched. But one whose condition is just being asked is not
  /// presented: it goes back to the front of the queue, and is asked again when the view is there.
  public func onViewWillDisappear() { _ = Engine.setVisible(engine.handle, false) }
}
