import InturnCore

/// The right to end one attempt of an operation, held by whoever does the work.
///
/// The first call that ends it counts, on any thread, and each call returns whether it was the
/// first. A token whose last reference goes away unused ends the operation as *abandoned*: a report
/// names the line that enqueued it, and the queue goes on.
///
/// All members may be used from any thread.
///
/// **Ownership.** It keeps its operation until it has been used.
public final class FinishToken: @unchecked Sendable {
  // Safe to share: `lock` protects `target`.

  let token: Handle
  private let lock = BriefLock()
  /// Whoever takes it out makes the call that ends the attempt.
  @exclusivity(unchecked) private var target: (any FinishTarget)?

  /// `token` is null if the target has only one attempt.
  package init(_ token: Handle = Handle(bits: 0), of target: any FinishTarget) {
    self.token = token
    self.target = target
  }

  deinit { target?.abandon(token) }

  /// Ends the operation as finished. False when it has an end already.
  @discardableResult
  public func finish() -> Bool { take()?.finish(token, with: nil) ?? false }

  /// Ends the attempt as failed, and with it the operation, unless its options allow another
  /// attempt. False when it has an end already.
  @discardableResult
  public func fail(_ error: any Error) -> Bool { take()?.fail(token, error) ?? false }

  /// Ends the operation as cancelled: the work gives in. False when it has an end already.
  @discardableResult
  public func cancel() -> Bool { take()?.giveIn(token) ?? false }

  /// Gives way to an urgent operation; call it when what was shown has been taken down. The
  /// operation is started again afterwards, with another token, before all that are not urgent.
  /// False, with nothing done, when it has an end already, or its queue has no urgent operations.
  @discardableResult
  public func yield() -> Bool {
    guard let operation, operation.yield(token) else { return false }
    return take() != nil
  }

  /// Whether the operation was asked to end, or has been cut off by a deadline. False
  /// once the token has been used.
  public var isCancelled: Bool {
    guard let operation, operation.isAskedToEnd(token) else { return false }
    // Another thread may have used it meanwhile.
    return self.operation != nil
  }

  /// Sets the function that is called when the operation is asked to end, or cut off by a deadline.
  /// If that has happened already, it is called soon, or within this call. A later handler replaces
  /// an earlier one. Called at most once, where the work was called; without effect once the token
  /// has been used.
  ///
  /// A handler that captured the token would hide its loss; use the handler's parameter, as in
  /// `token.onCancel { $0.cancel() }`. On an interaction queue, the handler is called on the main
  /// thread, where `MainActor.assumeIsolated` may be used.
  public func onCancel(_ handler: @escaping @Sendable (FinishToken) -> Void) {
    operation?.onCancel(self) { [weak self] in
      if let self, operation != nil { handler(self) }
    }
  }

  /// Sets the function that is called when an urgent operation wants this one's place, in the same
  /// way.
  ///
  /// It is up to the work what to do: take down what it shows and then call ``yield()``, end, or go
  /// on.
  public func onPreempt(_ handler: @escaping @Sendable (FinishToken) -> Void) {
    operation?.onPreempt(token) { [weak self] in
      if let self, operation != nil { handler(self) }
    }
  }

  /// Sets the operation's progress, in units of its own; a total of zero means unknown. False when
  /// the operation has ended. Stops the program when a number is negative, or more is completed than
  /// the total.
  @discardableResult
  public func setProgress(completed: Int, total: Int) -> Bool {
    setProgress(InturnCore.Progress(reporting: completed, of: total))
  }

  func setProgress(_ progress: InturnCore.Progress) -> Bool {
    operation?.setProgress(progress, of: token) ?? false
  }

  /// Says that a task has it, whose user has none: for reports.
  func isHeldByTask() { Engine.setTask(token) }

  /// Ends the operation as finished, with a value.
  @discardableResult
  package func finish<Value: Sendable>(with value: Value) -> Bool {
    take()?.finish(token, with: ValueBox(value)) ?? false
  }

  /// Ends the operation with what a body returns or throws: as cancelled if that gives in.
  package func finish<Value: Sendable>(by body: () async throws -> Value) async {
    do {
      finish(with: try await body())
    } catch {
      if error is CancellationError && isCancelled { cancel() } else { fail(error) }
    }
  }

  /// The operation that it ends; nil once it has been used.
  package var operation: (any FinishTarget)? { lock.withLock { target } }

  private func take() -> (any FinishTarget)? {
    lock.withLock {
      let taken = target
      target = nil
      return taken
    }
  }
}

/// What tokens end: one of the engine's operations, or one of Foundation's. Each call that ends it
/// returns whether it did.
package protocol FinishTarget: AnyObject, Sendable {
  func finish(_ token: Handle, with box: OutcomeBox?) -> Bool
  func fail(_ token: Handle, _ error: any Error) -> Bool
  func giveIn(_ token: Handle) -> Bool
  func yield(_ token: Handle) -> Bool
  func abandon(_ token: Handle)
  func isAskedToEnd(_ token: Handle) -> Bool
  /// Replaces the handler that this token has set before.
  func onCancel(_ token: FinishToken, _ handler: @escaping @Sendable () -> Void)
  func onPreempt(_ token: Handle, _ handler: @escaping @Sendable () -> Void)
  func setProgress(_ progress: InturnCore.Progress, of token: Handle) -> Bool
}
