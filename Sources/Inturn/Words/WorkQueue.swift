/// What every queue of the library's can.
///
/// All members may be used from any thread. No closure is called under a lock.
public protocol WorkQueue: AnyObject, Sendable {
  /// What reports call the queue.
  var label: String? { get }

  /// How many operations may be pending; nil for no limit.
  var capacity: Int? { get }

  /// Where delays, deadlines and timeouts take their time from; nil for the system's monotonic clock.
  var clock: ManualClock? { get }

  /// Suspends the queue: when this has returned, no operation starts. What runs goes on. Suspends
  /// are counted, and each is taken back by one ``resume()``.
  @_disfavoredOverload
  func suspend()

  /// Takes one ``suspend()`` back; with the last one, the queue goes on. It is a programmer's error
  /// when there is none.
  func resume()

  /// Suspends the queue for a reason, such as "no network", under which suspends are counted by
  /// themselves.
  @_disfavoredOverload
  func suspend(for reason: String)

  /// Takes one ``suspend(for:)`` of this reason back. It is a programmer's error when there is none.
  func resume(for reason: String)

  /// Lets no more operations start than `maxStarts` in each `interval`, from now on.
  ///
  /// It is a token bucket on the queue's clock: it holds `burst` starts, which may come at once, is
  /// full in the beginning, and gets one back each `interval / maxStarts`. So in no time of `interval`
  /// do more than `maxStarts + burst - 1` start; what starts late is made up for, up to a bucket. A
  /// rate that was there before leaves what is missing in its bucket.
  ///
  /// - Parameters:
  ///   - maxStarts: How many start in each interval in the long run, at least one.
  ///   - interval: Positive; times the burst, less than 146 years.
  ///   - burst: How many may start at once, at least one; nil for `maxStarts`.
  func setRate(maxStarts: Int, interval: Duration, burst: Int?)

  /// Lets operations start as fast as they can again.
  func removeRate()

  /// Cancels all operations: pending ones end and never run, running ones are asked to end. Those that
  /// are enqueued later are not affected.
  func cancelAll()

  /// Cancels the operations of a key, pending and running. Gives how many there were.
  @discardableResult
  func cancel(key: String) -> Int

  /// Ends the pending operations of a key as ``OperationEnd/resolved``, without calling their work.
  /// Gives how many there were.
  @discardableResult
  func resolve(key: String) -> Int

  /// Accepts no more operations; those that were accepted go on. It may be repeated.
  ///
  /// What is enqueued later never runs, by whichever form: a form that throws gives
  /// ``QueueError/closed``; of another one, the operation has ended as ``OperationEnd/Outcome/refused``,
  /// which is reported.
  func close()

  /// Waits until nothing of the queue is pending, running, or being told of its end; gives what has not
  /// ended in time, running operations first, at most 100.
  ///
  /// No thread is blocked. What is enqueued meanwhile may be waited for, too: ``close()`` before it
  /// keeps others out. It returns early, too, when its task is cancelled.
  ///
  /// - Parameter timeout: Of the queue's clock; nil for no limit, zero for just asking.
  /// - Throws: ``QueueError/deadlock(_:)``, which is also reported, inside one of the queue's own
  ///   operations, or when it would close a ring of queues.
  @discardableResult
  func drain(timeout: Duration?) async throws(QueueError) -> [OperationInfo]

  /// How many operations there are, and how the others have ended.
  var statistics: QueueStatistics { get }

  /// The queue's states, to be observed: how many operations are pending and running, whether it is
  /// suspended, how many have ended. They may outlive the queue.
  var states: QueueStates { get }

  /// What happens to the queue from now on, in order, until it has been let go of and has done what it
  /// had. Each call gives another sequence. While somebody looks, operations cost more.
  ///
  /// - Parameter policy: What waits for a slow reader: everything, the first so many, or the last.
  func events(
    buffering policy: AsyncStream<QueueEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<QueueEvent>

  /// The operations that have not ended: running ones first, then pending ones in about the order
  /// in which they will start. At most so many; takes time for each.
  func list(atMost count: Int) -> [OperationInfo]
}

extension WorkQueue {
  /// The same with as many starts at once as in an interval.
  ///
  /// - Parameters:
  ///   - maxStarts: How many start in each interval in the long run, at least one.
  ///   - interval: Positive.
  public func setRate(maxStarts: Int, interval: Duration) {
    setRate(maxStarts: maxStarts, interval: interval, burst: nil)
  }

  /// Waits until nothing of the queue is pending or running, however long that takes; see
  /// ``drain(timeout:)``.
  @discardableResult
  public func drain() async throws(QueueError) -> [OperationInfo] { try await drain(timeout: nil) }

  /// All events from now on; see ``events(buffering:)``. A slow reader's wait in memory.
  public func events() -> AsyncStream<QueueEvent> { events(buffering: .unbounded) }

  /// All operations that have not ended; see ``list(atMost:)``.
  public func list() -> [OperationInfo] { list(atMost: .max) }
}
