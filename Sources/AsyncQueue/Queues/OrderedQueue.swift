public import ConcurrentKVO
internal import InturnCore

/// What all queues of this module can do.
///
/// A queue that is released runs what is pending, and then frees everything; when it was suspended,
/// it is resumed for that.
public class OrderedQueue: @unchecked Sendable {
  // Safe to share: `core` never changes, and is safe to share itself.

  @usableFromInline let core: QueueCore

  init(_ core: QueueCore) { self.core = core }

  deinit { core.release() }

  /// The queue's name, for reports and messages.
  public final var name: String? { core.name }

  // MARK: Suspending

  /// Suspends the queue: when the call has returned, no operation starts.
  ///
  /// What runs goes on. Suspends are counted; each is taken back by one ``resume()``.
  public final func suspend() {
    guard Engine.suspend(core.queue) == .ok else { fatalError("\(core.described) is not usable") }
    core.emit(.suspended)
  }

  /// Takes one suspend back; with the last one, the queue goes on.
  ///
  /// A resume without a suspend stops the program.
  public final func resume() {
    // Told before what starts by it.
    core.emit(.resumed)
    let status = Engine.resume(core.queue)
    precondition(
      status == .ok, "A queue is resumed as often as it was suspended, and no more often.")
  }

  // MARK: Rate

  /// Lets no more operations start than `maxStarts` in each `interval`, from now on.
  ///
  /// It is a token bucket on the queue's clock: it holds `burst` starts, which may come at once, is
  /// full in the beginning, and gets one back each `interval / maxStarts`. So in no time of `interval`
  /// do more than `maxStarts + burst - 1` start; what starts late is made up for, up to a bucket. A
  /// rate that was there before leaves what is missing in its bucket.
  ///
  /// - Parameters:
  ///   - maxStarts: how many start in each interval in the long run, at least one.
  ///   - interval: positive; times the burst, less than 146 years.
  ///   - burst: how many may start at once, at least one; nil for `maxStarts`.
  public final func setRate(maxStarts: Int, interval: Duration, burst: Int? = nil) {
    Engine.setRate(
      maxStarts: maxStarts, nanoseconds: interval.inNanoseconds, burst: burst, of: core.queue)
  }

  /// Lets operations start as fast as they can again.
  public final func removeRate() { _ = Engine.setRate(nil, of: core.queue) }

  // MARK: Ending

  /// Cancels each operation of the queue; operations that are enqueued later are not affected.
  ///
  /// Pending ones never run, and who awaits one gets `CancellationError`; where the form cannot
  /// throw, the body runs in its turn, in a cancelled task. Running ones are asked to end, by
  /// cancelling their tasks. A body that runs in its caller's task, as with `run` and
  /// `enqueueAndWait`, is not cancelled: its task is not the queue's.
  public final func cancelAll() { core.cancelAll() }

  /// Refuses new operations from now on; what was accepted goes on. A second call does nothing.
  ///
  /// Forms that throw give ``QueueError/closed`` afterwards; the others stop the program.
  public final func close() {
    if Engine.close(core.queue) == .ok { core.emit(.closed) }
    core.giveRoom()
  }

  /// Waits until nothing of the queue is pending or running, and returns what did not end in time,
  /// running operations first.
  ///
  /// It does not close the queue, and does not wait for what is enqueued once the queue has been
  /// empty. It returns early, too, when its task is cancelled.
  ///
  /// Deadlock: inside an operation of the same queue, or round a ring, it stops the program with a
  /// message that names the queues.
  ///
  /// The timeout is of the queue's clock; nil means no limit.
  @discardableResult
  public final func drain(
    timeout: Duration? = nil, file: StaticString = #fileID, line: UInt = #line
  ) async -> [OperationInfo] {
    let entry: TaskWaits.Entry
    do {
      entry = try TaskWaits.enter(.quiet(core))
    } catch {
      core.stop(error, file, line)
    }
    defer { TaskWaits.leave(entry) }
    await core.waitUntilQuiet(timeout: timeout)
    return core.operations
  }

  // MARK: Looking

  /// The queue's counts.
  public final var statistics: QueueStatistics { core.statistics }

  /// The queue's states, to be observed: how many operations are pending and running, whether it is
  /// suspended, how many have ended. They may outlive the queue.
  public final var states: QueueStates { core.states }

  /// The operations that have not ended, running ones first, then pending ones in order.
  public final var operations: [OperationInfo] { core.operations }

  /// What happens to the queue from now on, until it is released.
  ///
  /// Operations that were enqueued before are not told, nor are bodies of `run` and
  /// `enqueueAndWait` that found the queue free before the first look. Each call gives another
  /// sequence. While somebody looks, each operation costs a task.
  ///
  /// - Parameter limit: how many events are kept for a reader that is slow; then the oldest goes.
  public final func events(bufferingNewest limit: Int = 1024) -> AsyncStream<QueueEvent> {
    core.makeEvents(bufferingNewest: limit)
  }
}
