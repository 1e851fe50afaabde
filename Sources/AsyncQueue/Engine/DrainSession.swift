import Inturn

/// A task that runs plain operations with the same tag, one after the other: closures of one
/// priority, or held tasks.
///
/// Cancelling the task cancels the closure that runs in it; the task then takes no other operation.
/// On an actor, another session takes over when a closure suspends: `DrainSession+Actor`.
final class DrainSession: Runner, @unchecked Sendable {
  // Safe to share: `lock` protects `isOver`, and an actor `state`; the rest never changes.

  let tag: UInt
  /// Of its task. Held tasks have their own, so this is roughly the first one's.
  let taskPriority: TaskPriority?
  /// Only accessed on the session's actor.
  nonisolated(unsafe) var state = State.running
  @exclusivity(unchecked) private var isOver = false

  /// The state of a session on an actor.
  enum State {
    /// It runs an operation, or is about to.
    case running
    /// It has run enough for now, and its relay will go on.
    case handedOver
    /// Its operation has suspended, and its relay has gone on.
    case displaced
    case done
  }

  /// How many operations the task runs before it gives others its thread or actor.
  static var operationsInARow: Int { 1024 }

  init(_ core: QueueCore, tag: UInt, _ priority: TaskPriority?) {
    self.tag = tag
    taskPriority = priority
    super.init(core, priority: (priority ?? .medium).rawValue)
  }

  /// The tag of the operations that the session can take; nil once it is cancelled, even if its
  /// task has not noticed yet.
  @inline(__always)
  var nextTag: UInt? {
    Task.isCancelled || isAskedToEnd.load(ordering: .relaxed) ? nil : tag
  }

  /// Sets the task that runs the session. It may be over by then.
  func adopt(_ task: Task<Void, Never>) {
    lock.lock()
    if !isOver { self.task = TaskAddress(of: task) }
    lock.unlock()
    if isAskedToEnd.load(ordering: .relaxed) { task.cancel() }
    // Threads that began to wait before could not know the task.
    core.escalateIfUrgent(self)
  }

  /// It takes no more operations, and its task is about to end.
  func end() {
    core.end(self)
    lock.lock()
    isOver = true
    task = .none
    lock.unlock()
  }

  /// Runs the operations of a FIFO queue, each to its end.
  func run(_ turn: OutsideExecutor.Turn) async {
    let drainer = LaneDrainer(turn)
    core.begin(self, isSession: true)
    _ = await Frame.bind(.init(of: core.queue), isolation: nil) { await run(of: drainer) }
    core.progressed()
  }

  private func run(of drainer: LaneDrainer) async {
    let areHeld = tag == HeldTask.tag
    var rest = Self.operationsInARow
    while true {
      let step = drainer.next(tag: nextTag, isPatient: areHeld)
      guard case .plain(let work, let context, let token) = step else {
        // Before the lane gets another session, which calls `begin`.
        end()
        return core.handle(step)
      }
      core.progressed()
      if areHeld {
        let isAsked = work == LaneDrainer.askedToEnd
        if !HeldTask.take(context).run(token, drainer, isAskedToEnd: isAsked) { return end() }
      } else {
        await Self.call(PlainClosure(work: work, context: context))
        _ = Engine.end(token, as: .finished)
      }
      drainer.plainReturned()
      rest -= 1
      if rest == 0 {
        rest = Self.operationsInARow
        await Task.yield()
      }
    }
  }

  /// By the time that this returns, the closure is released.
  @inline(__always)
  private static func call(_ closure: consuming PlainClosure) async {
    let function = closure.take()
    await function()
  }
}
