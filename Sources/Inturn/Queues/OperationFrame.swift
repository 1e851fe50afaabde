internal import CSwiftTask
import InturnCore
import Synchronization

/// That a task is the body of an operation, and whose waits that operation is part of.
///
/// It is bound as a task-local value. A child task sees its parent's binding itself, but a task that
/// is only created inside has a copy of it: the address of the binding tells the two apart. So a
/// frame counts for the body's task and its children, for which it waits, and for no task that it
/// may leave behind.
package final class OperationFrame: Sendable {
  /// What is bound: the operations that the current task was made in, however, and the frame.
  struct Binding: Sendable {
    var operations: [QueuedOperation] = []
    fileprivate var frame: OperationFrame?
  }

  @TaskLocal static var bound = Binding()

  private let operation: QueuedOperation
  private let token: FinishToken
  /// That of who waits for the operation, which is over after this one.
  private let outer: OperationFrame?
  /// Where it is bound as long as the body runs; zero before and after that. Relaxed: who finds his
  /// own binding's address there is a child of the task that has written it.
  private let address = Atomic<UInt>(0)

  init(_ token: FinishToken, of operation: QueuedOperation, inside outer: OperationFrame?) {
    self.token = token
    self.operation = operation
    self.outer = outer
  }

  /// The innermost one that counts for the current task.
  static var current: OperationFrame? {
    guard let frame = bound.frame, frame.address.load(ordering: .relaxed) == placeOfBinding
    else { return nil }
    return frame
  }

  /// Runs the operation's body. `callers`: the operations that its caller was made in.
  func run(callers: [QueuedOperation], _ body: () async -> Void) async {
    await Self.$bound.withValue(Binding(operations: callers + [operation], frame: self)) {
      address.store(Self.placeOfBinding, ordering: .relaxed)
      await body()
      address.store(0, ordering: .relaxed)
    }
  }

  /// The address of an object that lives as long as the process.
  private static let key = UInt(bitPattern: Unmanaged.passRetained($bound).toOpaque())

  private static var placeOfBinding: UInt {
    UInt(bitPattern: cswift_task_binding(UnsafeRawPointer(bitPattern: key).unsafelyUnwrapped))
  }

  // MARK: Progress

  /// Says how far the operation that the current task is inside of has come.
  static func report(_ progress: InturnCore.Progress) -> Bool {
    if let isTold = otherReport.withLock({ $0 })?(progress) { return isTold }
    guard let token = current?.token else { return false }
    return token.setProgress(progress)
  }

  /// The same in another module; nil when the current task is not inside of an operation of its queues.
  /// A task that is has come from there last: work of this module's begins in a task of its own.
  package typealias OtherReport = @Sendable (InturnCore.Progress) -> Bool?
  package static let otherReport = Locked<OtherReport?>(nil)

  // MARK: Waiting

  /// Enters a wait of the current task; throws, after a report, when it could never end. As long as
  /// it lasts, `needs` says, under a lock, without what it cannot end.
  static func enter(
    needing needs: @escaping (inout [AnyObject]) -> [TaskWaitGraph.Need]
  ) throws(QueueError) -> TaskWaitGraph.Entry {
    let holders: () -> [TaskWaitGraph.Holder]
    if let frame = current {
      holders = { frame.holders }
    } else if let others = otherHolders.withLock({ $0 })?() {
      holders = others
    } else {
      return .none
    }
    do {
      return try TaskWaitGraph.enter(inside: holders, needing: needs)
    } catch {
      throw QueueError.deadlock(error.message)
    }
  }

  /// What another module says of the current task: the operations of its queues that it is inside of.
  package typealias OtherHolders = @Sendable () -> (() -> [TaskWaitGraph.Holder])?
  package static let otherHolders = Locked<OtherHolders?>(nil)

  /// The operations that it is inside of and that keep their places.
  private var holders: [TaskWaitGraph.Holder] {
    var holders: [TaskWaitGraph.Holder] = []
    var next: OperationFrame? = self
    while let frame = next {
      if let holder = frame.operation.holder { holders.append(holder) }
      next = frame.outer
    }
    return holders
  }
}
