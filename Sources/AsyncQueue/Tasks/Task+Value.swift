import Inturn

/// The value of a task: like the standard library's properties with the same names, which these
/// call.
///
/// Inside an operation of a queue, they first check whether the task could ever end before that
/// operation has ended. Only files that import this module get them.
extension Task {
  /// The task's value, once it has ended.
  ///
  /// - Throws: the task's error; `QueueError.deadlock` when an operation, or a child task of
  ///   it, awaits a task that cannot end before that operation: itself, a task that is pending on
  ///   its own FIFO queue, or one that waits for it round a ring of queues.
  public nonisolated(nonsending) var value: Success {
    get async throws {
      let entry = try Place.enterWait(for: self)
      defer { WaitGraph.leave(entry) }
      return try await self._Concurrency::value
    }
  }

  /// The task's value or error, once it has ended.
  ///
  /// Where ``value`` throws `QueueError.deadlock`, this returns it as the failure. For a task that
  /// cannot fail, it stops the program, with a message that names the queue and the line.
  public nonisolated(nonsending) var result: Result<Success, Failure> {
    get async {
      let entry: WaitGraph.Entry
      do {
        entry = try Place.enterWait(for: self)
      } catch {
        guard let error = error as? Failure else { fatalError("\(error)") }
        return .failure(error)
      }
      defer { WaitGraph.leave(entry) }
      return await self._Concurrency::result
    }
  }
}

extension Task where Failure == Never {
  /// The task's value, once it has ended.
  ///
  /// Where the ``value`` of a task that may fail throws `QueueError.deadlock`, this stops the
  /// program, with a message that names the queue and the line.
  public nonisolated(nonsending) var value: Success {
    get async {
      let entry: WaitGraph.Entry
      do {
        entry = try Place.enterWait(for: self)
      } catch {
        fatalError("\(error)")
      }
      defer { WaitGraph.leave(entry) }
      return await self._Concurrency::value
    }
  }
}
