import Foundation
import InturnCore

/// The right to end one running operation, held by whoever does its work.
///
/// Ending is possible from any thread, once: the first of several ends counts, and each call says
/// whether it was the one. A token whose last reference goes away before the operation has an end
/// ends it as *abandoned*, and the report names where the operation was made: so an uncalled
/// callback does not stop the queue.
///
/// **Ownership.** It holds the operation until it has been used.
public final class FinishToken: @unchecked Sendable {
  // Safe to share: `lock` protects `operation`.

  private let lock = BriefLock()
  @exclusivity(unchecked) private var operation: AsyncOperation?

  init(_ operation: AsyncOperation) { self.operation = operation }

  deinit { operation?.abandon() }

  /// Ends the operation as finished. False: it has an end already.
  @discardableResult
  public func finish() -> Bool { end(as: .finished) }

  /// Ends the operation as failed. False: it has an end already.
  @discardableResult
  public func fail(_ error: any Error) -> Bool { end(as: .failed(error)) }

  /// Ends the operation as cancelled: the work gives in. False: it has an end already.
  @discardableResult
  public func cancel() -> Bool { end(as: .cancelled) }

  /// Ends the operation. False: it has an end already.
  @discardableResult
  public func end(as end: AsyncOperation.End) -> Bool { take()?.end(as: end) ?? false }

  /// Whether the work has been asked to end. False once the token has been used.
  public var isCancelled: Bool { lock.withLock { operation }?.isCancelled ?? false }

  /// Calls a handler once when cancelling is asked for; see `AsyncOperation.onCancel(_:)`.
  ///
  /// Without effect once the token has been used. A handler that held the token would keep it from
  /// being noticed as lost: it ends the operation by its parameter, as with
  /// `token.onCancel { $0.cancel() }`.
  public func onCancel(_ handler: @escaping @Sendable (Reply) -> Void) {
    let reply = Reply(token: self)
    lock.withLock { operation }?.onCancel { handler(reply) }
  }

  /// What a handler ends the operation with: the token, as long as somebody else holds it.
  public struct Reply: Sendable {
    fileprivate weak let token: FinishToken?

    /// Ends the operation as cancelled: the work gives in. False: it has an end already.
    @discardableResult
    public func cancel() -> Bool { token?.cancel() ?? false }

    /// Ends the operation. False: it has an end already.
    @discardableResult
    public func end(as end: AsyncOperation.End) -> Bool { token?.end(as: end) ?? false }
  }

  var qualityOfService: QualityOfService {
    lock.withLock { operation }?.qualityOfService ?? .default
  }

  /// The operation, for who uses the token up.
  func take() -> AsyncOperation? {
    lock.withLock {
      let taken = operation
      operation = nil
      return taken
    }
  }
}

extension AsyncOperation {
  /// Makes a token for this operation's work.
  ///
  /// For a `main()` that hands its work to others: when the last reference to the token goes away
  /// unused, the operation ends as abandoned instead of holding its queue up for ever.
  public final func makeFinishToken() -> FinishToken { FinishToken(self) }

  func abandon() {
    _ = conclude(as: .abandoned, report: .lostToken(of: self))
  }
}
