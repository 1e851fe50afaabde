import Dispatch

/// Performs lists of tasks in order, one at a time, with a single completion.
///
/// A task begins when the one before it has called its completion. Tasks cannot report failures:
/// the list goes on. For lists of operations with values and errors, use
/// `SynchronousOperationQueue`.
///
///     let tasks: [AsyncTask] = [SayHelloTask(id: 1), SayHelloTask(id: 2), SayHelloTask(id: 3)]
///     SynchronousDispatchGroup().executeTasks(tasks) { print("Goodbye") }
public final class SynchronousDispatchGroup: Sendable {
  /// The dispatch queue on which tasks begin and completions are called.
  public let systemQueue: DispatchQueue

  /// Creates a group that uses the main queue.
  public convenience init() { self.init(systemQueue: .main) }

  /// Creates a group.
  ///
  /// - Parameter systemQueue: Serial or concurrent; the order of the tasks is the same.
  public init(systemQueue: DispatchQueue) { self.systemQueue = systemQueue }

  /// Performs a list of tasks and then calls a completion.
  ///
  /// Nothing is called before this returns, unless `systemQueue` runs on another thread meanwhile.
  /// Each task begins on `systemQueue`, in the list's order, when the one before it is over: it has
  /// called its completion, or has released it uncalled, which is reported with the line of this
  /// call. Further calls of a task's completion have no effect. After the last task, or for an
  /// empty list, `completion` is called on `systemQueue`, exactly once.
  ///
  /// Lists of one group do not wait for each other.
  ///
  /// **Deadlock.** A task that blocks `systemQueue`, if that is serial, until its list is done.
  @preconcurrency
  public func executeTasks(
    _ tasks: [any AsyncTask], fileID: StaticString = #fileID, line: UInt = #line,
    completion: @escaping @Sendable () -> Void
  ) {
    TaskList(tasks, on: systemQueue, fileID, line, completion).begin()
  }

  /// Performs a list of tasks and returns when it is done.
  ///
  /// Tasks cannot be cancelled: when the waiting task is, the list goes on and is waited for.
  public func executeTasks(
    _ tasks: [any AsyncTask], fileID: StaticString = #fileID, line: UInt = #line
  ) async {
    await withCheckedContinuation { continuation in
      executeTasks(tasks, fileID: fileID, line: line) { continuation.resume() }
    }
  }
}
