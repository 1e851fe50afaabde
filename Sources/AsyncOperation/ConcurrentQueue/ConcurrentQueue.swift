import ConcurrentKVO
import Dispatch
import InturnCore

/// Runs operations, so many at a time, that end when they say so.
///
/// Higher priorities start first, and equal ones in the order in which they were enqueued; no
/// priority waits for ever: after 64 starts that have passed lower ones by, one of those is started.
/// ``ConcurrentOperationOptions`` says what else an operation may wait for: others, a name that no
/// two have at a time, a condition, its next attempt.
///
///     let queue = ConcurrentQueue(label: "downloads", maxConcurrentOperations: 4)
///     let page = queue.enqueueTask { try await fetch(url) }
///     queue.enqueue(.with { $0.dependencies = [page] }) { token in
///       index(page) { token.finish() }
///     }
///     try await queue.drain()
///
/// Each accepted operation ends exactly once, and its closures go when it has ended. Work is called
/// on the library's pool of threads and may block there; the pool grows for it.
///
/// **Threads.** All members may be used from any thread. No closure is called under a lock.
///
/// **Ownership.** A queue that is let go of takes no more operations and goes on with those that it
/// has; when it is suspended then, they are cancelled, as nobody could resume it any more.
///
/// **Deadlock.** A wait from inside an operation, or a child task of it, that could never end is
/// refused: for one which comes after it, or for which there is no place as all are taken by
/// operations that wait themselves. ``run(_:fileID:line:_:)``, ``drain(timeout:)`` and
/// ``ConcurrentResultOperation/value`` throw. Waits by other means are not seen.
public final class ConcurrentQueue: Sendable {
  let handle: Handle

  /// The queue's states, to be observed: how many operations are pending and running, whether it is
  /// suspended, how many have ended. They may outlive the queue.
  public let states: QueueStates
  private let broadcast = Broadcast<Event>()

  /// Makes a queue.
  ///
  /// - Parameters:
  ///   - label: What reports call the queue.
  ///   - maxConcurrentOperations: How many operations may run at a time, at least one; nil for as
  ///     many as the library's pool has threads.
  ///   - capacity: How many may be pending, at least one; nil for no limit.
  public convenience init(
    label: String? = nil, maxConcurrentOperations: Int? = nil, capacity: Int? = nil
  ) {
    self.init(
      label: label, maxConcurrentOperations: maxConcurrentOperations, capacity: capacity,
      executor: Handle(bits: 0), clock: Handle(bits: 0))
  }

  /// The same with another place and clock, for tests.
  init(
    label: String?, maxConcurrentOperations: Int?, capacity: Int?, executor: Handle, clock: Handle
  ) {
    precondition(capacity ?? 1 > 0, "A capacity must be positive; use nil for no limit.")
    var options = QueueOptions(kind: .concurrent)
    options.limit = maxConcurrentOperations.map(Self.limit) ?? 0
    options.capacity = UInt64(capacity ?? 0)
    let (status, handle) = withOptionalCString(label) { text in
      var options = options
      options.label = text
      return Engine.createQueue(options, executor: executor, clock: clock)
    }
    precondition(status == .ok, "The queue could not be made: no memory, or no thread.")
    self.handle = handle
    states = QueueStates(queue: handle)
  }

  deinit {
    _ = Engine.close(handle)
    if Engine.statistics(of: handle).1.suspends > 0 { _ = Engine.cancelAll(handle) }
    let (handle, broadcast) = (handle, broadcast)
    // It may be one of the queue's own calls that lets go of it last: somebody else clears away.
    let status = Engine.whenQuiet(handle) {
      DispatchQueue.global().async {
        _ = Engine.destroy(queue: handle)
        broadcast.finish()
      }
    }
    if status != .ok { broadcast.finish() }
  }

  private static func limit(_ count: Int) -> UInt32 {
    precondition(
      count > 0, "maxConcurrentOperations must be positive; suspend() stops a queue.")
    return UInt32(clamping: count)
  }

  // MARK: Control

  /// How many operations may run at a time, at least one. It may be changed while some run: when
  /// fewer are allowed than run, none is stopped, and none starts until that is so.
  public var maxConcurrentOperations: Int {
    get { Int(Engine.limit(of: handle).1) }
    set { _ = Engine.setLimit(Self.limit(newValue), of: handle) }
  }

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
  public func setRate(maxStarts: Int, interval: Duration, burst: Int? = nil) {
    Engine.setRate(
      maxStarts: maxStarts, nanoseconds: interval.inNanoseconds, burst: burst, of: handle)
  }

  /// Lets operations start as fast as they can again.
  public func removeRate() { _ = Engine.setRate(nil, of: handle) }

  /// Suspends the queue: when this has returned, no operation starts. What runs goes on. Suspends
  /// are counted.
  public func suspend() { _ = Engine.suspend(handle) }

  /// Takes one ``suspend()`` back. It is a programmer's error when there is none.
  public func resume() {
    precondition(Engine.resume(handle) == .ok, "resume() without a suspend().")
  }

  /// Suspends the queue for a reason, such as "no network", under which suspends are counted by
  /// themselves.
  public func suspend(for reason: String) { _ = Engine.suspend(handle, reason: reason) }

  /// Takes one ``suspend(for:)`` of this reason back. It is a programmer's error when there is none.
  public func resume(for reason: String) {
    let status = Engine.resume(handle, reason: reason)
    precondition(status == .ok, "resume(for: \"\(reason)\") without a suspend for that reason.")
  }

  /// Cancels all operations: pending ones end at once, running ones are asked to end. Those that
  /// are enqueued later are not affected.
  public func cancelAll() { _ = Engine.cancelAll(handle) }

  /// Cancels the operations of a key, pending and running. Gives how many there were.
  @discardableResult
  public func cancel(key: String) -> Int { Int(Engine.cancel(key, of: handle).1) }

  /// Ends the pending operations of a key as ``ConcurrentOperation/End/resolved``, without calling
  /// their work. Gives how many there were.
  @discardableResult
  public func resolve(key: String) -> Int { Int(Engine.resolve(key, of: handle).1) }

  /// Accepts no more operations; those that were accepted go on. It may be repeated.
  public func close() { _ = Engine.close(handle) }

  /// The queue's events from now on, in order, until the queue has been let go of and has done what
  /// it had. Each use gives a sequence of its own; a slow reader's events wait in memory.
  ///
  /// From the first use on, each operation of the queue costs some 300 bytes more.
  public var events: AsyncStream<Event> {
    let stream = broadcast.stream(keeping: .unbounded)
    _ = Engine.observe(handle) { [broadcast] in broadcast.send(Event($0)) }
    return stream
  }
}

func withOptionalCString<Result>(
  _ text: String?, _ body: (UnsafePointer<CChar>?) -> Result
) -> Result {
  guard let text else { return body(nil) }
  return text.withCString(body)
}
