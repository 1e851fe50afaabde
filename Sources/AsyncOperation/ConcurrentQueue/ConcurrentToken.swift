import InturnCore
import Synchronization

/// The right to end one attempt of an operation of a ``ConcurrentQueue``, held by whoever does the
/// work.
///
/// The first call that ends it counts, from any thread, and each call says whether it was the one. A
/// token whose last reference goes away unused ends the operation as abandoned: a report names the
/// line that enqueued it, and the queue goes on.
public final class ConcurrentToken: Sendable {
  let operation: ConcurrentOperation
  private let token: Handle
  /// Decides which call ends the attempt, so that what it ends with is that call's. Acquiring and
  /// releasing: `deinit`, which comes after all calls anyway, is the only one that just looks.
  private let isUsed = Atomic(false)

  init(_ token: Handle, of operation: ConcurrentOperation) {
    self.token = token
    self.operation = operation
  }

  deinit {
    if !isUsed.load(ordering: .acquiring) { _ = Engine.abandon(token) }
  }

  /// Ends the operation as finished. False: it has an end already.
  @discardableResult
  public func finish() -> Bool {
    use() && Engine.end(token, as: .finished) == .ok
  }

  /// Ends the attempt as failed, and the operation with it unless its options allow another one.
  /// False: it has an end already.
  @discardableResult
  public func fail(_ error: any Error) -> Bool {
    if !use() { return false }
    operation.note(failure: error)
    let context = ErrorBox(error).asContext
    if Engine.fail(token, code: 1, result: context, destroy: OutcomeBox.drop) == .ok { return true }
    OutcomeBox.drop(context)
    return false
  }

  /// Ends the operation as cancelled: the work gives in. False: it has an end already.
  @discardableResult
  public func cancel() -> Bool {
    use() && Engine.end(token, as: .cancelled) == .ok
  }

  /// Whether the operation was asked to end, or has been cut off by a deadline.
  public var isCancelled: Bool { Engine.isCancelled(token).1 }

  /// Sets what is called when the operation is asked to end, or cut off by a deadline; soon, when
  /// it was asked already. A later handler replaces an earlier one. Called at most once, on a thread
  /// of the pool; without effect once the token has been used.
  ///
  /// When the operation has been cut off before, the handler is called here, before this returns.
  ///
  /// A handler that held the token would keep it from being noticed as lost: it ends the operation
  /// by its parameter, as with `token.onCancel { $0.cancel() }`.
  public func onCancel(_ handler: @escaping @Sendable (Reply) -> Void) {
    let reply = Reply(token: self)
    let context = CancelHandler.context { handler(reply) }
    let status = Engine.onCancel(
      token, handler: CancelHandler.call, context: context, destroy: CancelHandler.drop)
    if status == .ok { return }
    CancelHandler.drop(context)
    if !isUsed.load(ordering: .acquiring) { handler(reply) }
  }

  /// What a handler ends the operation with: the token, as long as somebody else holds it.
  public struct Reply: Sendable {
    fileprivate weak let token: ConcurrentToken?

    /// Ends the operation as cancelled: the work gives in. False: it has an end already.
    @discardableResult
    public func cancel() -> Bool { token?.cancel() ?? false }

    /// Ends the attempt as failed; see ``ConcurrentToken/fail(_:)``.
    @discardableResult
    public func fail(_ error: any Error) -> Bool { token?.fail(error) ?? false }
  }

  /// Says how far the operation has come: so many of so many units, which are its own. A total of
  /// zero: not known. False when the operation has ended.
  @discardableResult
  public func setProgress(completed: Int64, total: Int64) -> Bool {
    precondition(completed >= 0 && total >= 0, "Progress must not be negative.")
    precondition(total == 0 || completed <= total, "No more can be completed than the total.")
    return !isUsed.load(ordering: .acquiring)
      && operation.setProgress(Progress(completed: completed, total: total), of: token)
  }

  /// Ends the operation as finished, with a value.
  func finish(with box: OutcomeBox) {
    if !use() { return }
    let context = box.asContext
    if Engine.finish(token, result: context, destroy: OutcomeBox.drop) != .ok {
      OutcomeBox.drop(context)
    }
  }

  private func use() -> Bool { !isUsed.exchange(true, ordering: .acquiringAndReleasing) }
}

/// A cancel handler as the engine keeps it.
private final class CancelHandler: Sendable {
  private let body: @Sendable () -> Void

  private init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// A context with a reference, which `drop` gives back.
  static func context(_ body: @escaping @Sendable () -> Void) -> UnsafeMutableRawPointer {
    Unmanaged.passRetained(CancelHandler(body)).toOpaque()
  }

  static let call: RawWork = { context, _ in
    Unmanaged<CancelHandler>.fromOpaque(context!).takeUnretainedValue().body()
  }

  static let drop: RawDestroy = { Unmanaged<CancelHandler>.fromOpaque($0!).release() }
}
