import Foundation
import Inturn

/// A Foundation operation that ends when it is told to, not when its `main()` returns.
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
/// Calls may be made in any order, from any thread:
///
/// - The first end counts: `finish()`, `end(as:)`, a `FinishToken`, or a cancelled start. Later
///   ones change nothing.
/// - `finish()` before `start()`: the operation's work is never called. It ends when its queue, or
///   the program, starts it; a queue does not let an operation finish earlier.
/// - `cancel()` before `start()`: the same, and it ends as cancelled.
/// - `cancel()` while it runs: `isCancelled` is true at once and the handlers of `onCancel(_:)` are
///   called. The operation keeps its place until its work ends it, or until `cancelGrace` has
///   passed.
/// - `cancel()` after it has ended (`isFinished`), and a second one: no effect.
/// - `start()` of an operation that has been started: no effect. `main()` is called once at most.
///
/// Foundation and observers are never told of a change while the library holds a lock. Each of them
/// is told each change once, in order.
///
/// **Threads.** Everything may be called from any thread. `main()` is called on a thread of the
/// queue, or on the one that calls `start()`.
///
/// **Deadlock.** `waitUntilFinished()` inside the operation's own work never returns. Neither does
/// waiting, in a queue's only place, for an operation that is pending in that queue. Dependencies
/// that close a ring are reported and end an operation; see `addDependency(_:)`.
///
/// **Ownership.** A queue retains an operation until it has finished; so does a `FinishToken`.
open class AsyncOperation: Operation, @unchecked Sendable {
  // Safe to share: everything that changes is in `storage`, which has a lock.

  let storage = OperationStorage()
  /// Set when the operation is deallocated; released after Foundation's part of it.
  private var remains: Remains?

  public override init() { super.init() }

  deinit {
    // There will be no further state. If it has ended, this changes nothing.
    storage.madeObservedState?.finish()
    if storage.withLinks({ $0.hasDependencies }) {
      #if canImport(Darwin)
        remains = Remains(super.dependencies)
      #else
        remains = Remains(takeLinks())
      #endif
    }
  }

  // MARK: The course of events

  /// Begins the operation: queues call it.
  ///
  /// It calls `main()`, unless the operation was started, ended or cancelled before. A program
  /// calls it for an operation that is in no queue; dependencies are not waited for in that case.
  /// Calling it for an operation in a queue is an error that cannot be detected here.
  ///
  /// A subclass that overrides this calls `super.start()`, or sets `isExecuting` to true, in every
  /// case, even when it is cancelled: an operation that has not begun does not end.
  open override func start() {
    if isCancelled { _ = storage.cancel() }
    if begin() { main() }
  }

  /// Ends the operation as finished.
  ///
  /// When this returns, `isFinished` is true, with two exceptions: the operation has not been
  /// started yet, or another thread is just telling observers that it runs, and will then go on to
  /// the end. Of several ends, the first counts: `end(as:)` returns whether it did.
  open func finish() { end(as: .finished) }

  /// Ends the operation, and returns whether this call did so.
  ///
  /// False when it has another end already, which it keeps.
  @discardableResult
  public final func end(as end: OperationEnd) -> Bool { conclude(as: end) }

  /// Asks the operation to end.
  ///
  /// A pending one will never call its work. For a running one, the cancel handlers are called
  /// before this returns, on the caller's thread; when `cancelGrace` has passed, it ends as
  /// cancelled although its work may still go on. May be called from anywhere, including its own
  /// handlers.
  open override func cancel() {
    // First, so that a start in between sees it.
    let (handlers, grace) = storage.cancel()
    super.cancel()
    // Before the handlers, as they may take longer.
    if let grace { begin(grace) }
    for handler in handlers where storage.callsCancelHandlers { handler() }
  }

  // MARK: What Foundation asks

  /// Always true: the operation goes on after `start()` has returned.
  open override var isAsynchronous: Bool { true }

  /// Whether the operation was cancelled before it had ended (`isFinished`).
  open override var isCancelled: Bool { super.isCancelled || storage.isCancelRequested }

  /// Whether the operation has been started and has not ended.
  ///
  /// Setting it to true does what `start()` does, except calling `main()`: for subclasses with a
  /// `start()` of their own. Setting it to false has no effect; the end does that.
  open override var isExecuting: Bool {
    get { storage.isExecuting }
    set { if newValue { _ = begin() } }
  }

  /// Whether the operation has ended, in whatever way.
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
  /// calling its work.
  ///
  /// A ring of operations of this class only is always detected, by this call. A ring through
  /// Foundation's own operations may be closed by a call to those, which gives no notice. It is
  /// detected in two cases. The first is when an operation of this class that waits for one of them
  /// is added to a queue or gets another dependency, provided that it waits for no more than 1,000
  /// operations in total. The second is when somebody waits for an operation of this class that is
  /// in the ring or waits for it. One operation of this class in the ring then ends as described,
  /// and is also cancelled. Not detected are rings without an operation of this class, and rings
  /// closed through other operations after all of them were added to their queues, unless somebody
  /// waits.
  ///
  /// The cost does not depend on the number of operations, unless some wait for this one already:
  /// then everything that the other one waits for is examined. On Linux, it grows by some nanoseconds
  /// with each dependency that this one has, as Foundation compares the new one with all of them.
  open override func addDependency(_ operation: Operation) {
    if storage.state == .pending && closesRing(operation) { return }
    #if canImport(Darwin)
      super.addDependency(operation)
    #else
      if let link = makeLink(to: operation) { super.addDependency(link) }
    #endif
    withdraw(operation)
    if !(operation is AsyncOperation) {
      storage.withLinks { $0.hasPlainDependencies = true }
    }
  }

  #if !canImport(Darwin)
    /// Makes the operation wait no longer for another one's end.
    open override func removeDependency(_ operation: Operation) { removeLink(to: operation) }

    /// What was added with `addDependency(_:)`, and not removed.
    open override var dependencies: [Operation] {
      storage.withLinks { $0.made.compactMap(\.dependency) }
    }
  #endif

  /// Whether all dependencies have finished, or the operation has been cancelled.
  open override var isReady: Bool {
    if super.isReady { return true }
    searchLater()
    // Asked again, as Foundation's queues take the answer for the latest one: if the last dependency
    // ended before they note it, nothing would start the operation.
    return super.isReady
  }

  /// Waits until the operation has finished, blocking the thread.
  ///
  /// First looks for a ring of dependencies that the operation is in or waits for; see
  /// `addDependency(_:)`.
  open override func waitUntilFinished() {
    breakRing()
    super.waitUntilFinished()
  }

  /// What this operation waits for in addition to what Foundation knows of.
  var announcedDependencies: [Operation] { storage.withLinks { $0.announced } }

  /// The operation has its end. It leaves a ring, whose members would retain each other for ever,
  /// and waits for nothing more before it is started.
  func leaveRing(_ next: Operation) {
    #if canImport(Darwin)
      super.removeDependency(next)
    #else
      removeLink(to: next)
    #endif
    super.cancel()
  }

  /// Called once, when the operation has ended and its work is no longer needed.
  func letGoOfWork() {}
}
