import Foundation
import Inturn

/// A Foundation operation that ends when it says so, not when its `main()` returns.
///
/// Override `main()`, begin the work there, and call `finish()` when it is done, from any thread.
/// The queue keeps the operation's place until then, and dependents wait for it.
///
///     final class Upload: AsyncOperation, @unchecked Sendable {
///       override func main() {
///         startUpload { [self] in finish() }
///       }
///     }
///
/// Any call may be made in any order, from any thread:
///
/// - The first end counts: `finish()`, `end(as:)`, a `FinishToken`, or a cancelled start. Later
///   ones change nothing.
/// - `finish()` before `start()`: the operation's work is never called. It ends when its queue, or
///   the program, starts it; a queue does not let an operation finish earlier.
/// - `cancel()` before `start()`: the same, and it ends as cancelled.
/// - `cancel()` while it runs: `isCancelled` is true at once and the handlers of `onCancel(_:)` are
///   called. The operation keeps its place until its work ends it, or until `cancelGrace` has
///   passed.
/// - `cancel()` after the end, and a second one: no effect.
/// - `start()` of an operation that has been started: no effect. `main()` is called once at most.
///
/// Nobody is told of a change, neither Foundation nor an observer, while the library holds a lock.
/// Each is told once of each change, in order.
///
/// **Threads.** Everything may be called from any thread. `main()` is called on a thread of the
/// queue, or on the one that calls `start()`.
///
/// **Deadlock.** `waitUntilFinished()` from inside the operation's own work never returns, nor does
/// waiting from a queue's only place for an operation that waits in that queue. Dependencies that
/// close a ring are reported and end an operation; see `addDependency(_:)`.
///
/// **Ownership.** A queue holds an operation until it has finished; so does a `FinishToken`.
open class AsyncOperation: Operation, @unchecked Sendable {
  // Safe to share: what changes is in `storage`, which has a lock.

  let storage = OperationStorage()
  /// Set when the operation goes away; let go of after Foundation's part of it.
  private var remains: Remains?

  public override init() { super.init() }

  deinit {
    if storage.withLinks({ $0.hasDependencies }) {
      let dependencies = super.dependencies
      #if !canImport(Darwin)
        // Foundation on Linux keeps bare pointers to dependents. Those that go away before what
        // they depend on has finished have to be taken out, or it would use them after that.
        for dependency in dependencies where !dependency.isFinished {
          super.removeDependency(dependency)
        }
      #endif
      remains = Remains(dependencies)
    }
  }

  // MARK: The course of events

  /// Begins the operation: queues call it.
  ///
  /// It calls `main()`, unless the operation was started, ended or cancelled before. A program
  /// calls it for an operation that is in no queue; dependencies are not waited for then. To start
  /// an operation by hand that is in a queue is an error which cannot be seen from here.
  ///
  /// A subclass that overrides this calls `super.start()`, or sets `isExecuting` to true, in every
  /// case, also when it is cancelled: an operation that has not begun does not end.
  open override func start() {
    if isCancelled { _ = storage.cancel() }
    if begin() { main() }
  }

  /// Ends the operation as finished.
  ///
  /// When it returns, `isFinished` is true; unless the operation has not been started yet, or
  /// another thread is telling observers that it runs at this moment, which then goes on to the
  /// end. Of several ends the first counts: `end(as:)` says whether it did.
  open func finish() { end(as: .finished) }

  /// Ends the operation, and says whether it was this call that did.
  ///
  /// False: it has another end already, and keeps it.
  @discardableResult
  public final func end(as end: OperationEnd) -> Bool { conclude(as: end) }

  /// Asks the operation to end.
  ///
  /// A pending one will never call its work. A running one's cancel handlers are called before this
  /// returns, on the caller's thread; when `cancelGrace` has passed, it ends as cancelled although
  /// its work may still go on. It may be called from anywhere, its own handlers included.
  open override func cancel() {
    // First, so that a start in between sees it.
    let (handlers, grace) = storage.cancel()
    super.cancel()
    for handler in handlers { handler() }
    if let grace { begin(grace) }
  }

  // MARK: What Foundation asks

  /// True: the operation goes on when `start()` has returned.
  open override var isAsynchronous: Bool { true }

  /// Whether cancelling was asked for while the operation had no end.
  open override var isCancelled: Bool { super.isCancelled || storage.isCancelRequested }

  /// Whether the operation has been started and has not ended.
  ///
  /// Setting it to true does what `start()` does, but for calling `main()`: for subclasses that
  /// have a `start()` of their own. Setting it to false has no effect, the end does that.
  open override var isExecuting: Bool {
    get { storage.isExecuting }
    set { if newValue { _ = begin() } }
  }

  /// Whether the operation has ended, however it did.
  ///
  /// Setting it to true does what `finish()` does. Setting it to false has no effect.
  open override var isFinished: Bool {
    get { storage.isFinished }
    set { if newValue { end(as: .finished) } }
  }

  // MARK: Dependencies

  /// Makes the operation wait for another one's end.
  ///
  /// A dependency that would close a ring is refused: the ring is reported with its members, and
  /// this operation ends as failed with `QueueError.deadlock` as soon as it is started, without
  /// having called its work.
  ///
  /// Rings of operations of this class alone are always seen, at this call. One through
  /// Foundation's own operations may be closed by a call to those, which says nothing. It is seen
  /// when an operation of this class that waits for one of them is added to a queue or made to wait
  /// for more, as long as it waits for no more than 1,000 operations altogether; and when somebody
  /// waits for an operation of this class that is in the ring or waits for it. Then one of this
  /// class in the ring ends so, and is cancelled, too. Not seen are rings without an operation of
  /// this class, and those that are closed through other operations after all have been added to
  /// their queues, unless somebody waits.
  ///
  /// It costs the same however many operations there are, unless some wait for this one already:
  /// then all that the other one waits for is looked at.
  open override func addDependency(_ operation: Operation) {
    if storage.state == .pending && closesRing(operation) { return }
    super.addDependency(operation)
    withdraw(operation)
    if !(operation is AsyncOperation) {
      storage.withLinks { $0.hasPlainDependencies = true }
    }
  }

  /// Whether all dependencies have finished, or the operation has been cancelled.
  open override var isReady: Bool {
    let isReady = super.isReady
    if !isReady { searchLater() }
    return isReady
  }

  /// Waits until the operation has finished, blocking the thread.
  ///
  /// A ring of dependencies that the operation waits in or for is looked for first; see
  /// `addDependency(_:)`.
  open override func waitUntilFinished() {
    breakRing()
    super.waitUntilFinished()
  }

  /// What this operation waits for beside what Foundation knows of.
  var announcedDependencies: [Operation] { storage.withLinks { $0.announced } }

  /// The operation has its end: it leaves a ring, in which the two would hold each other for ever,
  /// and waits for nothing more before it is started.
  func leaveRing(_ next: Operation) {
    super.removeDependency(next)
    super.cancel()
  }

  /// Called once, when the operation has ended and its work is not needed any more.
  func letGoOfWork() {}
}
