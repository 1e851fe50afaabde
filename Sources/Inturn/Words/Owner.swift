import InturnCore

/// Whatever operations are done for: a window, a document, a connection.
///
/// When it goes away, by ``goAway()`` or because its last reference does, its operations are
/// cancelled, in whatever queues they are: pending ones end at once, running ones are asked to end.
public final class Owner: Sendable {
  let core: InturnCore.Owner
  private let handle: Handle

  /// Creates an owner.
  ///
  /// - Parameter capacity: How many operations that have not ended it may have, at least one; more
  ///   are refused. Nil for no limit.
  public init(capacity: Int? = nil) {
    require(capacity ?? 1 > 0, "A capacity must be positive; use nil for no limit.")
    handle = Engine.createOwner(capacity: UInt64(capacity ?? 0))!
    core = Engine.owner(handle).1!
  }

  deinit { goAway() }

  /// Cancels the owner's operations and refuses new ones. May be called again.
  public func goAway() { _ = Engine.destroy(owner: handle) }
}
