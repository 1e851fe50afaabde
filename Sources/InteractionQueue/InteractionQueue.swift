import ConcurrentKVO
import Foundation
import InturnCore

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
/// All members may be used from any thread. What is called on the main thread is called inside
/// `OperationQueue.main`, so the main queue has to be running: in an app it is.
public final class InteractionQueue: Sendable {
  /// Marks an interaction as finished. It may be called from any thread and more than once; only the
  /// first call counts. When the last copy goes away uncalled, the interaction ends as abandoned.
  public typealias MarkInteractionFinished = @Sendable () -> Void

  /// Presents an interaction, and sees to it that the callback is called in the end.
  public typealias Block =
    @MainActor (_ markInteractionFinished: @escaping MarkInteractionFinished)
    -> Void

  /// What an interaction's condition says, just before it would be presented.
  public enum Verdict: Sendable {
    /// It is presented now.
    case present
    /// It is not needed any more: it ends as finished, and the next one need not wait for the gap.
    case skip
    /// It cannot be presented: it ends as cancelled.
    case giveUp
  }

  let handle: Handle
  let broadcast: EventBroadcast

  /// The queue's states, to be observed: how many interactions are pending and running, whether it
  /// is suspended, how many have ended. They may outlive the queue.
  public let states: QueueStates

  /// Makes a queue.
  ///
  /// - Parameters:
  ///   - label: What reports call the queue.
  ///   - settleDelay: From the view's appearing to the first interaction.
  ///   - gap: From the end of one interaction to the start of the next one. An interaction that has
  ///     ended by the time its closure returns has shown nothing and costs no gap.
  ///   - capacity: How many interactions may be pending; nil for no limit.
  public convenience init(
    label: String? = nil, settleDelay: Duration = .milliseconds(500),
    gap: Duration = .milliseconds(250), capacity: Int? = nil
  ) {
    self.init(
      label: label, settleDelay: settleDelay, gap: gap, capacity: capacity,
      executor: MainDelivery.shared.executor, clock: Handle(bits: 0))
  }

  /// The same with another clock and place, for tests.
  init(
    label: String?, settleDelay: Duration, gap: Duration, capacity: Int?, executor: Handle,
    clock: Handle
  ) {
    precondition(settleDelay >= .zero && gap >= .zero, "A delay must not be negative.")
    precondition(capacity ?? 1 > 0, "A capacity must be positive; use nil for no limit.")
    let broadcast = EventBroadcast()
    var options = QueueOptions(kind: .interaction)
    options.settle = settleDelay.nanoseconds
    options.gap = gap.nanoseconds
    options.capacity = UInt64(capacity ?? 0)
    options.onEvent = { broadcast.send($0) }
    let (status, handle) = withOptionalCString(label) { text in
      var options = options
      options.label = text
      return Engine.createQueue(options, executor: executor, clock: clock)
    }
    precondition(status == .ok, "The queue could not be made: no memory, or no thread.")
    self.handle = handle
    states = QueueStates(queue: handle)
    self.broadcast = broadcast
  }

  deinit {
    // Inside one of its own callbacks, what is left is cleared away when that returns. Where waiting
    // for a callback would never end, somebody else waits.
    if Engine.destroy(queue: handle) == .deadlock {
      DispatchQueue.global().async { [handle] in _ = Engine.destroy(queue: handle) }
    }
    broadcast.finish()
  }

  /// Says that the view has appeared: presenting goes on when the settle delay has passed and the
  /// view is still visible. Nothing happens when it was visible already.
  public func onViewDidAppear() { _ = Engine.setVisible(handle, true) }

  /// Says that the view disappears: when this has returned, no interaction starts until the view has
  /// appeared again and settled.
  ///
  /// The running interaction is not touched. But one whose condition is just being asked is not
  /// presented: it goes back to the front of the queue, and is asked again when the view is there.
  public func onViewWillDisappear() { _ = Engine.setVisible(handle, false) }

  /// Suspends presenting for a reason, such as "a call is in progress". Suspends are counted, for
  /// each reason by itself; the view's visibility is another matter. The running interaction is not
  /// touched; one whose condition is just being asked is asked again afterwards.
  public func suspend(for reason: String) { _ = Engine.suspend(handle, reason: reason) }

  /// Takes one ``suspend(for:)`` of this reason back. It is a programmer's error when there is none.
  public func resume(for reason: String) {
    let status = Engine.resume(handle, reason: reason)
    precondition(status == .ok, "resume(for: \"\(reason)\") without a suspend for that reason.")
  }

  /// Cancels all interactions, pending and running, as ``Interaction/cancel()`` does.
  public func cancelAll() { _ = Engine.cancelAll(handle) }

  /// Cancels the interactions of a key, pending and running. Gives how many there were.
  @discardableResult
  public func cancel(key: String) -> Int { Int(Engine.cancel(key, of: handle).1) }

  /// Ends the pending interactions of a key as finished, without presenting them: what they were to
  /// ask has been answered. Gives how many there were.
  @discardableResult
  public func resolve(key: String) -> Int { Int(Engine.resolve(key, of: handle).1) }

  /// Accepts no more interactions; those that were accepted go on. One that is added later has ended
  /// as cancelled when it is added: ``Interaction/End/Cause/queueClosed``.
  public func close() { _ = Engine.close(handle) }

  /// Lets no more interactions start than `maxStarts` in each `interval`, from now on.
  ///
  /// It is a token bucket on the system's monotonic clock: it holds `burst` starts, which may come at once, is
  /// full in the beginning, and gets one back each `interval / maxStarts`. So in no time of `interval`
  /// do more than `maxStarts + burst - 1` start; what starts late is made up for, up to a bucket. A
  /// rate that was there before leaves what is missing in its bucket.
  ///
  /// - Parameters:
  ///   - maxStarts: how many start in each interval in the long run, at least one.
  ///   - interval: positive; times the burst, less than 146 years.
  ///   - burst: how many may start at once, at least one; nil for `maxStarts`.
  public func setRate(maxStarts: Int, interval: Duration, burst: Int? = nil) {
    Engine.setRate(
      maxStarts: maxStarts, nanoseconds: interval.nanoseconds, burst: burst, of: handle)
  }

  /// Lets interactions start as fast as they can again.
  public func removeRate() { _ = Engine.setRate(nil, of: handle) }

  /// Numbers of a queue at one moment.
  public struct Statistics: Sendable, Equatable {
    /// How many wait, those included that have joined others.
    public var pending: Int
    /// How many are on screen: one or none.
    public var running: Int
    /// How many were marked as finished, skipped or resolved.
    public var finished: Int
    /// Always 0: an interaction does not fail.
    public var failed: Int
    /// How many were cancelled, whatever the cause.
    public var cancelled: Int
    /// How many have waited, or were on screen, too long.
    public var timedOut: Int
    /// How many callbacks were lost.
    public var abandoned: Int
    /// The moment of the system's monotonic clock before which the queue's delays or its rate let
    /// nothing start; nil for none that is known.
    public var nextStart: Duration?
  }

  /// How many interactions there are and have been; refused ones are not among them.
  public var statistics: Statistics {
    let numbers = Engine.statistics(of: handle).1
    return Statistics(
      pending: Int(numbers.pending), running: Int(numbers.running),
      finished: Int(numbers.finished), failed: Int(numbers.failed),
      cancelled: Int(numbers.cancelled), timedOut: Int(numbers.timedOut),
      abandoned: Int(numbers.abandoned),
      nextStart: numbers.nextStart == 0 ? nil : .nanoseconds(numbers.nextStart))
  }
}

extension Duration {
  /// At most what an `Int64` holds: 292 years.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return Int64.max }
    let (sum, overflows) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflows ? Int64.max : sum
  }
}

func withOptionalCString<Result>(
  _ text: String?, _ body: (UnsafePointer<CChar>?) -> Result
) -> Result {
  guard let text else { return body(nil) }
  return text.withCString(body)
}
