import Foundation
import Inturn

/// Presents modal interactions one at a time, in order, while its view is on screen.
///
/// Each interaction is started on the main thread and lasts until it is marked as finished, from
/// any thread. The next one starts when the one before it has ended and the delays have passed. The
/// queue guesses nothing: neither a disappearing view nor a returning closure ends an interaction.
///
/// A queue starts with its view not visible: it presents nothing before ``onViewDidAppear()``. When
/// the queue is released, pending interactions end as cancelled, and so does the running one for
/// everybody who waits for it.
///
/// In addition to what every `WorkQueue` can do, it has priorities, urgent interactions, and its
/// view.
///
/// All members may be used from any thread. Calls on the main thread are made inside
/// `OperationQueue.main`, on the main actor, so the main queue has to be running: it is in an app,
/// and under an asynchronous `main`. In the latter case, on Linux, the main queue may be served by
/// another thread than the process's first, where `Thread.isMainThread` is false: check for the
/// main actor instead, as `MainActor.assertIsolated()` does.
public final class InteractionQueue: WorkQueue, EngineQueue {
  /// Marks an interaction as finished. May be called from any thread and more than once; only the
  /// first call counts. When the last copy goes away uncalled, the interaction ends as abandoned.
  public typealias MarkInteractionFinished = @Sendable () -> Void

  /// Presents an interaction, and makes sure that the callback is called in the end.
  public typealias Block =
    @MainActor (_ markInteractionFinished: @escaping MarkInteractionFinished)
    -> Void

  package let engine: QueueEngine

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - label: The queue's name in reports.
  ///   - settleDelay: From the view's appearance to the first interaction.
  ///   - gap: From the end of one interaction to the start of the next one. An interaction that has
  ///     ended by the time its closure returns has shown nothing and adds no gap.
  ///   - capacity: How many interactions may be pending; nil for no limit.
  ///   - clock: The source of delays, deadlines and time-outs; nil for the system's clock.
  public init(
    label: String? = nil, settleDelay: Duration = .milliseconds(500),
    gap: Duration = .milliseconds(250), capacity: Int? = nil, clock: ManualClock? = nil
  ) {
    require(settleDelay >= .zero && gap >= .zero, "A delay must not be negative.")
    engine = QueueEngine(
      .interaction, label: label, capacity: capacity, clock: clock,
      executor: MainDelivery.shared.executor
    ) {
      $0.settle = settleDelay.inNanoseconds
      $0.gap = gap.inNanoseconds
    }
  }

  deinit {
    // Inside one of its own callbacks, the rest is cleared away when that returns. If waiting for a
    // callback would never end, another thread waits.
    if Engine.destroy(queue: engine.handle) == .deadlock {
      DispatchQueue.global().async { [engine] in _ = Engine.destroy(queue: engine.handle) }
    }
    engine.finishEvents()
  }

  /// Tells the queue that the view has appeared: it goes on presenting when the settle delay has
  /// passed and the view is still visible. Does nothing when the view was visible already.
  public func onViewDidAppear() { _ = Engine.setVisible(engine.handle, true) }

  /// Tells the queue that the view will disappear: once this has returned, no interaction starts
  /// until the view has appeared again and settled. Called on another thread than the main one, it
  /// does not wait for an interaction that counts as running and whose closure is about to be
  /// called.
  ///
  /// The running interaction is not affected. But if its condition is just being called, it is not
  /// presented: it goes back to the front of the queue, and the condition is called again when the
  /// view is visible.
  public func onViewWillDisappear() { _ = Engine.setVisible(engine.handle, false) }
}
