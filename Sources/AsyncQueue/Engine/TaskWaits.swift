import Inturn

/// Waits made inside queues' operations; see `WaitGraph`.
enum TaskWaits {
  typealias Entry = WaitGraph.Entry

  /// What is waited for.
  enum Target {
    /// A turn in the queue; this one, once it is enqueued.
    case turn(QueueCore, Turn? = nil)
    /// The end of everything in the queue.
    case quiet(QueueCore)
    /// The end of an operation with its own task.
    case end(OwnedFrame)

    fileprivate var needs: [TaskWait.Need] {
      switch self {
      case .turn(let core, .none):
        // Only a running operation holds others up, and on an actor not while it waits.
        core.kind == .actor ? [] : [.place(in: core.queue)]
      case .quiet(let core): [.quiet(core.queue)]
      case .turn(_, .some(let turn)): Self.needs(ofEnd: turn)
      case .end(let awaited): Self.needs(ofEnd: awaited)
      }
    }

    private static func needs(ofEnd awaited: OwnedFrame) -> [TaskWait.Need] {
      if awaited.hasEnded { return [] }
      if awaited.core.kind == .fifo || awaited.isRefused {
        // What comes before it, or its own options, may need what the waiter holds.
        if !awaited.isRefused, let handle = (awaited as? Turn)?.ownHandle {
          return [.operation(handle)]
        }
        // Whatever runs there is the awaited operation or comes before it, and before one that was
        // refused.
        return [.place(in: awaited.core.queue)]
      }
      return awaited.holder.map { [.end(of: $0)] } ?? []
    }
  }

  /// Begins a wait of the current task, in this line. Throws, after a report, if it could never end.
  static func enter(
    _ target: Target, at site: @autoclosure () -> Site
  ) throws(QueueError) -> Entry {
    guard let holders = currentHolders else { return .none }
    return try enter(target, inside: holders, at: site())
  }

  /// Begins a wait of the current task for the end of the task at this address. `isCancelled` says
  /// whether that task is cancelled.
  static func enter(
    endOf task: TaskAddress, isCancelled: @autoclosure () -> Bool
  ) throws(QueueError) -> Entry {
    guard let holders = currentHolders, let awaited = TaskTable.find(task) else { return .none }
    if awaited.isCancellable && isCancelled() { return .none }
    return try enter(.end(awaited), inside: holders, at: .unknown)
  }

  /// The operations, of any module's queues, that contain the current task; nil where there is none.
  private static var currentHolders: (() -> [TaskWait.Holder])? {
    TaskWait.joined(holdersOfCurrentFrame, OperationFrame.holdersOfCurrent)
  }

  private static var holdersOfCurrentFrame: (() -> [TaskWait.Holder])? {
    Frame.current.map { frame in { frame.holders } }
  }

  private static func enter(
    _ target: Target, inside holders: @escaping () -> [TaskWait.Holder], at site: Site
  ) throws(QueueError) -> Entry {
    do {
      return try WaitGraph.enter(TaskWait(inside: holders, needing: { target.needs }, at: site))
    } catch {
      let message = String(error.message)
      guard case .end(let awaited) = target else { throw .deadlock(message) }
      let line = awaited.site.text.map { "; the awaited task is of \($0)" } ?? ""
      throw .deadlock(message + line)
    }
  }

  static func leave(_ entry: Entry) { WaitGraph.leave(entry) }

  /// Once there is a queue, waits for other modules' operations also see the operations of this one
  /// that contain a task, and progress reports reach them.
  static let areSeenByOthers: Void = {
    OperationFrame.others.withLock {
      $0.holders = { holdersOfCurrentFrame }
      $0.report = { progress in Frame.current.map { ($0 as? Turn)?.report(progress) ?? false } }
    }
  }()
}

extension Frame {
  /// The operation, by its slot if the engine knows it.
  fileprivate var holder: TaskWait.Holder? {
    let token = engineToken
    return token.bits == 0 ? TaskWait.Holder(self, of: core.queue) : TaskWait.Holder(token)
  }

  /// The operations that contain the frame.
  fileprivate var holders: [TaskWait.Holder] {
    var holders: [TaskWait.Holder] = []
    var frame: Frame? = self
    while let current = frame {
      if let holder = current.holder { holders.append(holder) }
      frame = current.outer
    }
    return holders
  }
}
