import Inturn

/// What waits made inside operations need; see `Frame.enter`.
extension QueueCore {
  /// What a wait needs for a turn that is not enqueued yet.
  var needsForTurn: [TaskWait.Need] {
    // Only a running operation holds others up, and on an actor not while it waits.
    kind == .actor ? [] : [.place(in: queue)]
  }
}

extension Place {
  /// What a wait for its end needs.
  var needsForEnd: [TaskWait.Need] {
    if hasEnded { return [] }
    if core.kind == .fifo || isRefused {
      // What comes before it, or its own options, may need what the waiter holds.
      if !isRefused, let handle = (self as? Turn)?.ownHandle { return [.operation(handle)] }
      // Whatever runs there is the awaited operation or comes before it, and before one that was
      // refused.
      return [.place(in: core.queue)]
    }
    return lock.withLock { framed }.holder.map { [.end(of: $0)] } ?? []
  }

  /// Begins a wait of the current task for the end of a task. Throws, after a report, if it could
  /// never end.
  static func enterWait<Success, Failure>(
    for task: Task<Success, Failure>
  ) throws(QueueError) -> WaitGraph.Entry {
    guard Frame.isBound, let awaited = TaskTable.find(TaskAddress(of: task)),
      !(awaited.isCancellable && task.isCancelled)
    else { return .none }
    do {
      return try Frame.enter(at: .unknown) { awaited.needsForEnd }
    } catch {
      guard case .deadlock(let message) = error, let site = awaited.site.text else { throw error }
      throw .deadlock("\(message); the awaited task is of \(site)")
    }
  }
}
