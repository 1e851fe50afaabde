import Inturn

/// Waits made inside queues' operations; see `TaskWaitGraph`.
enum TaskWaits {
  typealias Entry = TaskWaitGraph.Entry

  /// What is waited for.
  enum Target {
    /// A turn in the queue.
    case turn(QueueCore)
    /// The end of everything in the queue.
    case quiet(QueueCore)
    /// The end of an operation with its own task.
    case end(OwnedFrame)

    fileprivate var needs: [TaskWaitGraph.Need] {
      switch self {
      case .turn(let core):
        // Only a running operation holds others up, and on an actor not while it waits.
        core.kind == .actor ? [] : [.place(in: core.queue)]
      case .quiet(let core): [.place(in: core.queue)]
      case .end(let awaited):
        if awaited.hasEnded {
          []
        } else if awaited.core.kind == .fifo || awaited.isRefused {
          // Whatever runs there is the awaited operation or comes before it, and before one that
          // was refused.
          [.place(in: awaited.core.queue)]
        } else {
          [.end(of: awaited.holder)]
        }
      }
    }
  }

  /// Begins a wait of the current task. Throws, after a report, if it could never end.
  static func enter(_ target: Target) throws(QueueError) -> Entry {
    guard let frame = Frame.current else { return .none }
    return try enter(target, of: frame)
  }

  /// Begins a wait of the current task for the end of the task at this address. `isCancelled` says
  /// whether that task is cancelled.
  static func enter(
    endOf task: TaskAddress, isCancelled: @autoclosure () -> Bool
  ) throws(QueueError) -> Entry {
    guard let frame = Frame.current, let awaited = TaskTable.find(task) else { return .none }
    if awaited.isCancellable && isCancelled() { return .none }
    return try enter(.end(awaited), of: frame)
  }

  private static func enter(_ target: Target, of frame: Frame) throws(QueueError) -> Entry {
    do {
      return try TaskWaitGraph.enter(
        inside: { frame.holders }, needing: { _ in target.needs })
    } catch {
      guard case .end(let awaited) = target else { throw .deadlock(error.message) }
      let line = awaited.site.text.map { " The task that is awaited is of \($0)." } ?? ""
      throw .deadlock(error.message + line)
    }
  }

  static func leave(_ entry: Entry) { TaskWaitGraph.leave(entry) }

  /// Once there is a queue, waits for other modules' operations also see the operations of this one
  /// that contain a task, and progress reports reach them.
  static let areSeenByOthers: Void = {
    OperationFrame.otherHolders.withLock {
      $0 = { Frame.current.map { frame in { frame.holders } } }
    }
    OperationFrame.otherReport.withLock {
      $0 = { progress in Frame.current.map { ($0 as? Turn)?.report(progress) ?? false } }
    }
  }()
}

extension Frame {
  fileprivate var holder: TaskWaitGraph.Holder { .init(self, of: core.queue) }

  /// The operations that contain the frame.
  fileprivate var holders: [TaskWaitGraph.Holder] {
    var holders: [TaskWaitGraph.Holder] = []
    var frame: Frame? = self
    while let current = frame {
      holders.append(current.holder)
      frame = current.outer
    }
    return holders
  }
}
