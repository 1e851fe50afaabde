import InturnCore

/// The right to end one attempt of an operation, held by whoever does the work.
///
/// The first call that ends it counts, from any thread, and each call says whether it was the one. A
/// token whose last reference goes away unused ends the operation as *abandoned*: a report names
/// where it came from, and the queue goes on.
///
/// All members may be used from any thread.
///
/// **Ownership.** It keeps its operation until it has been used.
public final class FinishToken: @unchecked Sendable {
  // Safe to share: `lock` protects `target`.

  private let token: Handle
  private let lock = BriefLock()
  /// Who takes it out is the one whose call ends the attempt.
  @exclusivity(unchecked) private var target: (any FinishTarget)?

  /// `token`: null where the target has one attempt only.
  package init(_ token: Handle = Handle(bits: 0), of target: any FinishTarget) {
    self.token = token
    self.target = target
  }

  deinit { target?.abandon(token) }

  /// Ends the operation as finished. False: it has an end already.
  @discardableResult
  public func finish() -> Bool { take()?.finish(token, with: nil) ?? false }

  /// Ends the attempt as failed, and the operation with it unless its options allow another one.
  /// False: it has an end already.
  @discardableResult
  public func fail(_ error: any Error) -> Bool { take()?.fail(token, error) ?? false }

  /// Ends the operation as cancelled: the work gives in. False: it has an end already.
  @discardableResult
  public func cancel() -> Bool { take()?.giveIn(token) ?? false }

  /// Gives way to an urgent operation: call it when what was shown has been taken down. The
  /// operation is started again afterwards, with another token, before all that are not urgent.
  /// False, and nothing has happened: it has an end already, or its queue knows nothing urgent.
  @discardableResult
  public func yield() -> Bool {
    guard let operation, operation.yield(token) else { return false }
    return take() != nil
  }

  /// Whether the operation was asked to end, or has been cut off by a deadline. False
  /// once the token has been used.
  public var isCancelled: Bool { operation?.isAskedToEnd(token) ?? false }

  /// Sets what is called when the operation is asked to end, or cut off by a deadline; soon, or in
  /// here, when that has happened already. A later handler replaces an earlier one. Called at most
  /// once, where the work was called; without effect once the token has been used.
  ///
  /// A handler that held the token would keep it from being noticed as lost: it ends the operation
  /// by its parameter, as with `token.onCancel { $0.cancel() }`. On an interaction queue, it is called
  /// on the main thread, where `MainActor.assumeIsolated` may be used.
  public func onCancel(_ handler: @escaping @Sendable (FinishToken) -> Void) {
    operation?.onCancel(token) { [weak self] in
      if let self, operation != nil { handler(self) }
    }
  }

  /// Sets what is called when an urgent operation wants this one's place; in the same way.
  ///
  /// What the work makes of it is its own affair: it may take down what it shows and then ``yield()``,
  /// or end, or go on.
  public func onPreempt(_ handler: @escaping @Sendable (FinishToken) -> Void) {
    operation?.onPreempt(token) { [weak self] in
      if let self, operation != nil { handler(self) }
    }
  }

  /// Says how far the operation has come: so many of so many units, which are its own. A total of
  /// zero: not known. False when the operation has ended.
  @discardableResult
  public func setProgress(completed: Int, total: Int) -> Bool {
    setProgress(InturnCore.Progress(reporting: completed, of: total))
  }

  func setProgress(_ progress: InturnCore.Progress) -> Bool {
    operation?.setProgress(progress, of: token) ?? false
  }

  /// Ends the operation as finished, with a value.
  @discardableResult
  package func finish<Value: Sendable>(with value: Value) -> Bool {
    take()?.finish(token, with: ValueBox(value)) ?? false
  }

  /// What it ends; nil once it has been used.
  package var operation: (any FinishTarget)? { lock.withLock { target } }

  private func take() -> (any FinishTarget)? {
    lock.withLock {
      let taken = target
      target = nil
      return taken
    }
  }
}

/// What tokens end: an operation of the engine's, or one of Foundation's. Each call that ends it says
/// whether it did.
package protocol FinishTarget: AnyObject, Sendable {
  func finish(_ token: Handle, with box: OutcomeBox?) -> Bool
  func fail(_ token: Handle, _ error: any Error) -> Bool
  func giveIn(_ token: Handle) -> Bool
  func yield(_ token: Handle) -> Bool
  func abandon(_ token: Handle)
  func isAskedToEnd(_ token: Handle) -> Bool
  func onCancel(_ token: Handle, _ handler: @escaping @Sendable () -> Void)
  func onPreempt(_ token: Handle, _ handler: @escaping @Sendable () -> Void)
  func setProgress(_ progress: InturnCore.Progress, of token: Handle) -> Bool
}
