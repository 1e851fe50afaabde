import Dispatch
import InturnCore

extension ConcurrentQueue {
  /// Why a drain has ended before the queue was empty.
  public enum DrainError: Error, Equatable {
    /// The time was over. These, of those that had not ended then, were first: at most 100.
    case timedOut([Listed])
    /// It was called from inside one of the queue's own operations, or round a ring of queues, and
    /// would wait for itself.
    case deadlock
  }

  /// Waits until nothing of the queue is pending, running, or being told of its end.
  ///
  /// What is enqueued meanwhile is waited for, too: ``close()`` before it keeps others out. No
  /// thread is blocked. Within the task of an operation of this queue, in tasks that it has made
  /// but for detached ones, and in what it waits for with ``run(_:fileID:line:_:)``, it is refused
  /// as long as that operation runs.
  ///
  /// - Parameter timeout: Of the system's clock; nil for no limit, zero for just asking.
  /// - Throws: ``DrainError``; `CancellationError` when the task that waits is cancelled.
  public func drain(timeout: Duration? = nil) async throws {
    precondition(timeout ?? .zero >= .zero, "A timeout must not be negative.")
    if timeout == .zero {
      if Engine.drain(handle, timeoutNanoseconds: 0) != .ok { throw notDrained }
      return
    }
    if ConcurrentFrame.bound.operations.contains(where: { $0.runs(on: handle) }) {
      throw DrainError.deadlock
    }
    let entry: TaskWaitGraph.Entry
    do throws(DeadlockError) {
      entry = try ConcurrentFrame.enter { [handle] _ in [.place(in: handle)] }
    } catch {
      throw DrainError.deadlock
    }
    defer { TaskWaitGraph.leave(entry) }
    let wait = DrainWait()
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        wait.begin(continuation)
        _ = Engine.whenQuiet(handle) { wait.end(.quiet) }
        if let timeout {
          let time = DispatchTime.now() + .nanoseconds(Int(timeout.inNanoseconds))
          DispatchQueue.global().asyncAfter(deadline: time) { [weak wait] in wait?.end(.timedOut) }
        }
      }
    } onCancel: {
      wait.end(.cancelled)
    }
    switch outcome {
    case .quiet: return
    case .timedOut: throw notDrained
    case .cancelled: throw CancellationError()
    }
  }

  private var notDrained: DrainError { .timedOut(list(atMost: 100)) }
}

/// One wait for a queue: the first end of it counts.
private final class DrainWait: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.

  enum Outcome: Sendable { case quiet, timedOut, cancelled }

  private let lock = BriefLock()
  @exclusivity(unchecked) private var continuation: CheckedContinuation<Outcome, Never>?
  @exclusivity(unchecked) private var outcome: Outcome?

  func begin(_ new: CheckedContinuation<Outcome, Never>) {
    let outcome = lock.withLock { () -> Outcome? in
      if self.outcome == nil { continuation = new }
      return self.outcome
    }
    if let outcome { new.resume(returning: outcome) }
  }

  func end(_ new: Outcome) {
    let waiter = lock.withLock { () -> CheckedContinuation<Outcome, Never>? in
      if outcome != nil { return nil }
      outcome = new
      defer { continuation = nil }
      return continuation
    }
    waiter?.resume(returning: new)
  }
}
