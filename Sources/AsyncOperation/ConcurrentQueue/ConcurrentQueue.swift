import Dispatch
import Inturn

/// Runs operations, so many at a time, that end when they say so.
///
/// Higher priorities start first, and equal ones in the order in which they were enqueued; no
/// priority waits for ever: after 64 starts that have passed lower ones by, one of those is started.
/// `OperationOptions` says what else an operation may wait for: others, a name that no
/// two have at a time, a condition, its next attempt.
///
///     let queue = ConcurrentQueue(label: "downloads", maxConcurrent: 4)
///     let page = queue.enqueueTask { try await fetch(url) }
///     queue.enqueue(.with { $0.after = [page] }) { token in
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
/// operations that wait themselves. ``run(_:fileID:line:_:)``, `WorkQueue.drain(timeout:)` and
/// `QueuedResult.value` throw. Waits by other means are not seen.
public final class ConcurrentQueue: WorkQueue, EngineQueue {
  package let engine: QueueEngine

  /// Makes a queue.
  ///
  /// - Parameters:
  ///   - label: What reports call the queue.
  ///   - maxConcurrent: How many operations may run at a time, at least one; nil for as many as the
  ///     library's pool has threads.
  ///   - capacity: How many may be pending, at least one; nil for no limit.
  ///   - clock: The source of delays, deadlines and timeouts; nil for the system's clock.
  public init(
    label: String? = nil, maxConcurrent: Int? = nil, capacity: Int? = nil,
    clock: ManualClock? = nil
  ) {
    engine = QueueEngine(.concurrent, label: label, capacity: capacity, clock: clock) {
      $0.limit = maxConcurrent.map(Self.limit) ?? 0
    }
  }

  deinit {
    let engine = engine
    _ = Engine.close(engine.handle)
    if statistics.suspends > 0 { cancelAll() }
    // It may be one of the queue's own calls that lets go of it last: somebody else clears away.
    let status = Engine.whenQuiet(engine.handle) {
      DispatchQueue.global().async {
        _ = Engine.destroy(queue: engine.handle)
        engine.finishEvents()
      }
    }
    if status != .ok { engine.finishEvents() }
  }

  private static func limit(_ count: Int) -> UInt32 {
    precondition(count > 0, "maxConcurrent must be positive; suspend() stops a queue.")
    return UInt32(clamping: count)
  }

  /// How many operations may run at a time, at least one. It may be changed while some run: when
  /// fewer are allowed than run, none is stopped, and none starts until that is so.
  public var maxConcurrent: Int {
    get { Int(Engine.limit(of: engine.handle).1) }
    set { _ = Engine.setLimit(Self.limit(newValue), of: engine.handle) }
  }
}
