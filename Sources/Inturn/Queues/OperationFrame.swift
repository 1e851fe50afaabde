internal import CSwiftTask
import InturnCore
import Synchronization

/// Marks a task as the body of an operation, so that its waits count as the operation's.
///
/// Bound as a task-local value. A child task sees its parent's binding itself, while a task that is
/// merely created inside has a copy of it: the address of the binding tells the two apart. So a
/// frame counts for the body's task and its child tasks, for which it waits, but not for tasks that
/// it may leave behind.
package final class OperationFrame: Sendable {
  /// The innermost operation in which the current task was created.
  @TaskLocal private static var bound: OperationFrame?

  private let token: FinishToken
  /// The frame of the task that waits for this operation, and so ends after it.
  private let outer: OperationFrame?
  /// The address of the binding while the body runs; otherwise zero. Relaxed: a task that finds its
  /// own binding's address here is the body's or a child of it.
  private let address = Atomic<UInt>(0)

  init(_ token: FinishToken, inside outer: OperationFrame?) {
    self.token = token
    self.outer = outer
  }

  /// The innermost frame that counts for the current task.
  static var current: OperationFrame? {
    // Looked at first: most waits are in no operation, and this costs less than the value.
    let place = placeOfBinding
    guard place != 0, let frame = bound, frame.address.load(ordering: .relaxed) == place
    else { return nil }
    return frame
  }

  /// Runs the operation's body.
  func run(_ body: () async -> Void) async {
    await Self.$bound.withValue(self) {
      address.store(Self.placeOfBinding, ordering: .relaxed)
      await body()
      address.store(0, ordering: .relaxed)
    }
  }

  /// The address of an object that is never freed.
  private static let key = UInt(bitPattern: Unmanaged.passRetained($bound).toOpaque())

  private static var placeOfBinding: UInt {
    UInt(bitPattern: cswift_task_binding(UnsafeRawPointer(bitPattern: key).unsafelyUnwrapped))
  }

  // MARK: Progress

  /// Reports the progress of the operation that contains the current task.
  static func report(_ progress: InturnCore.Progress) -> Bool {
    if let isTold = others.withLock({ $0 }).report?(progress) { return isTold }
    guard let token = current?.token else { return false }
    return token.setProgress(progress)
  }

  // MARK: Waiting

  /// Begins a wait of the current task, in this line; throws, after a report, if it could never end.
  /// While it lasts, `needs` says, under a lock, what it depends on.
  static func enter(
    at site: Site, needing needs: @escaping () -> [TaskWait.Need]
  ) throws(QueueError) -> WaitGraph.Entry {
    let own = holdersOfCurrent
    let others = Self.others.withLock({ $0 }).holders?()
    guard let holders = TaskWait.joined(own, others) else { return .none }
    do {
      return try WaitGraph.enter(TaskWait(inside: holders, needing: needs, at: site))
    } catch {
      throw QueueError.deadlock(String(error.message))
    }
  }

  /// The operations of this module's queues that contain the current task, as long as they keep their
  /// places; nil where there is none.
  package static var holdersOfCurrent: (() -> [TaskWait.Holder])? {
    current.map { frame in { frame.holders } }
  }

  /// What another module knows of the current task.
  ///
  /// A structure: a function that is by itself the value of a generic type is wrapped once more
  /// each time that it is read.
  package struct Others: Sendable {
    /// The operations of its queues that contain the task; nil where there is none.
    package var holders: (@Sendable () -> (() -> [TaskWait.Holder])?)?
    /// Reports the progress of the innermost of them; nil where there is none. It is also the
    /// innermost one of both modules: this module's work begins in a task of its own.
    package var report: (@Sendable (InturnCore.Progress) -> Bool?)?
  }

  package static let others = Locked(Others())

  /// The operations that contain the current task and keep their places.
  private var holders: [TaskWait.Holder] {
    var holders: [TaskWait.Holder] = []
    var next: OperationFrame? = self
    while let frame = next {
      if let holder = TaskWait.Holder(frame.token.token) { holders.append(holder) }
      next = frame.outer
    }
    return holders
  }
}

extension TaskWait {
  /// The holders of both modules' operations that contain a task; nil where there is none.
  package static func joined(
    _ one: (() -> [Holder])?, _ other: (() -> [Holder])?
  ) -> (() -> [Holder])? {
    guard let one, let other else { return one ?? other }
    return { one() + other() }
  }
}
