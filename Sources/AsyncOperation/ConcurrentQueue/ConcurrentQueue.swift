import Dispatch
import Inturn

/// Runs a limited number of operations at a time, each until it is told to end.
///
/// Higher priorities start first, and equal ones in the order in which they were enqueued. No
/// priority waits for ever: after 64 starts that have passed by lower ones, one of those is
/// started. `OperationOptions` lists what else an operation may wait for: other operations, a name
/// that no two hold at a time, a condition, its next attempt.
///
///     let queue = ConcurrentQueue(label: "downloads", maxConcurrent: 4)
///     let page = queue.enqueueTask { try await fetch(url) }
///     queue.enqueue(.with { $0.after = [page] }) { token in
///       index(page) { token.finish() }
///     }
///     try await queue.drain()
///
/// Each accepted operation ends exactly once, and its closures are released when it has ended. Work
/// is called on the library's thread pool and may block there; the pool grows for it.
///
/// **Threads.** All members may be used from any thread. No closure is called under a lock.
///
/// **Ownership.** A released queue accepts no more operations and goes on with those that it has.
/// If it is suspended at that point, they are cancelled, as nobody could resume it any more, with
/// the cause `OperationEnd.Cause.queueReleased`.
///
/// **Deadlock.** A wait inside an operation, or a child task of it, is refused if it could never
/// end: for an operation that depends on this one, or for one without a place because all places
/// are taken by operations that wait themselves. ``run(_:fileID:line:_:)``,
/// `WorkQueue.drain(timeout:)` and `QueuedResult.value` throw. Waits by other means are not
/// detected.
public final class ConcurrentQueue: WorkQueue, EngineQueue {
  package let engine: QueueEngine

  /// Creates a queue.
  ///
  /// - Parameters:
  ///   - label: The queue's name in reports.
  ///   - maxConcurrent: How many operations may run at a time, at least one; nil for the number of
  ///     threads in the library's pool.
  ///   - capacity: How many operations may be pending, at least one; nil for no limit.
  ///   - clock: The source of delays, deadlines and time-outs; nil for the system's clock.
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
    if statistics.suspends > 0 { _ = Engine.cancelAll(engine.handle, cause: .destroyed) }
    // The queue may be released last by one of its own calls, so another thread destroys it.
    let status = Engine.whenQuiet(engine.handle) {
      DispatchQueue.global().async {
        _ = Engine.destroy(queue: engine.handle)
        engine.finishEvents()
      }
    }
    if status != .ok { engine.finishEvents() }
  }

  private static func limit(_ count: Int) -> UInt32 {
    require(count > 0, "maxConcurrent must be positive; suspend() stops a queue.")
    return UInt32(clamping: count)
  }

  /// How many operations may run at a time, at least one. May be changed while some run. If more
  /// run than are now allowed, none is stopped, and none starts until fewer run.
  public var maxConcurrent: Int {
    get { Int(Engine.limit(of: engine.handle).1) }
    set { _ = Engine.setLimit(Self.limit(newValue), of: engine.handle) }
  }
}
