/// What every queue of the library can do.
///
/// All members may be used from any thread. No closure is called under a lock.
public protocol WorkQueue: AnyObject, Sendable {
  /// The queue's name in reports.
  var label: String? { get }

  /// How many operations may be pending; nil for no limit.
  var capacity: Int? { get }

  /// The clock for delays, deadlines and time-outs; nil for the system's monotonic clock.
  var clock: ManualClock? { get }

  /// Suspends the queue: once this has returned, no operation starts. Running ones go on; this does
  /// not wait for one that counts as running and whose work another thread is about to call.
  /// Suspends are counted; each needs one ``resume()``.
  @_disfavoredOverload
  func suspend()

  /// Undoes one ``suspend()``; after the last one, the queue goes on. Without a suspend, it is a
  /// programmer's error.
  func resume()

  /// Suspends the queue for a reason, such as "no network". Suspends are counted for each reason.
  @_disfavoredOverload
  func suspend(for reason: String)

  /// Undoes one ``suspend(for:)`` with this reason. Without one, it is a programmer's error.
  func resume(for reason: String)

  /// Limits starts to `maxStarts` in each `interval`, from now on.
  ///
  /// This is a token bucket on the queue's clock. It holds `burst` starts, which may come at once,
  /// is full at first, and gets one start back each `interval / maxStarts`. So at most `maxStarts +
  /// burst - 1` operations start in any `interval`, and starts that came late are made up for, up
  /// to a full bucket. If there was another rate before, as many starts are missing from the new
  /// bucket as from the old one.
  ///
  /// - Parameters:
  ///   - maxStarts: How many operations start in each interval in the long run, at least one.
  ///   - interval: Positive; times the burst, less than 146 years.
  ///   - burst: How many may start at once, at least one; nil for `maxStarts`.
  func setRate(maxStarts: Int, interval: Duration, burst: Int?)

  /// Removes the rate: operations start as fast as they can.
  func removeRate()

  /// Sets after how long the queue is reported as stuck, and what waits for its work with it: in place
  /// of the process's limit, see ``Report/setStallLimit(_:)``. Zero for that limit; nil for never.
  /// Stops the program when it is negative.
  func setStallLimit(_ limit: Duration?)

  /// Cancels all operations: pending ones end and never run, running ones are asked to end.
  /// Operations that are enqueued later are not affected.
  func cancelAll()

  /// Cancels a key's pending and running operations. Returns how many there were.
  @discardableResult
  func cancel(key: String) -> Int

  /// Ends a key's pending operations as ``OperationEnd/resolved``, without calling their work.
  /// Returns how many there were.
  @discardableResult
  func resolve(key: String) -> Int

  /// Accepts no more operations; those that were accepted go on. May be called again.
  ///
  /// Operations that are enqueued later never run. A throwing call throws ``QueueError/closed``;
  /// with other calls, the operation ends as ``OperationEnd/Outcome/refused``, which is reported.
  func close()

  /// Waits until nothing of the queue is pending, running or being told of its end. Returns the
  /// operations that have not ended in time, running ones first, at most 100.
  ///
  /// No thread is blocked. Operations enqueued meanwhile may be waited for as well; ``close()``
  /// first to keep them out. Also returns early when its task is cancelled.
  ///
  /// - Parameter timeout: On the queue's clock; nil for no limit, zero to only ask.
  /// - Throws: ``QueueError/deadlock(_:)``, which is also reported, inside one of the queue's own
  ///   operations, or when it would close a ring of queues.
  @_disfavoredOverload @discardableResult
  func drain(timeout: Duration?) async throws(QueueError) -> [OperationInfo]

  /// How many operations there are, and how earlier ones have ended.
  var statistics: QueueStatistics { get }

  /// The queue's observable states: how many operations are pending and running, whether it is
  /// suspended, how many have ended. They may outlive the queue.
  var states: QueueStates { get }

  /// The queue's events from now on, in order, until the queue has been released and has done all
  /// its work. Each call returns another sequence. While there is a reader, operations cost more.
  ///
  /// - Parameter policy: What is kept for a slow reader: everything, the oldest, or the newest.
  func events(
    buffering policy: AsyncStream<QueueEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<QueueEvent>

  /// The operations that have not ended: running ones first, then pending ones, roughly in the
  /// order in which they will start; at most `count`. Takes time for each.
  func list(atMost count: Int) -> [OperationInfo]
}

extension WorkQueue {
  /// The same, with a burst of `maxStarts`.
  ///
  /// - Parameters:
  ///   - maxStarts: How many operations start in each interval in the long run, at least one.
  ///   - interval: Positive.
  public func setRate(maxStarts: Int, interval: Duration) {
    setRate(maxStarts: maxStarts, interval: interval, burst: nil)
  }

  /// Waits until nothing of the queue is pending or running, however long that takes; see
  /// ``drain(timeout:)``.
  @_disfavoredOverload @discardableResult
  public func drain() async throws(QueueError) -> [OperationInfo] { try await drain(timeout: nil) }

  /// All events from now on; see ``events(buffering:)``. Those that a slow reader has not read yet
  /// stay in memory.
  public func events() -> AsyncStream<QueueEvent> { events(buffering: .unbounded) }

  /// All operations that have not ended; see ``list(atMost:)``.
  public func list() -> [OperationInfo] { list(atMost: .max) }
}
