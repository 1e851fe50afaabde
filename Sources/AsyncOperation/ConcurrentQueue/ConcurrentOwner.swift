import InturnCore

/// Whoever operations are for: a window, a document, a connection.
///
/// When it goes away, by ``goAway()`` or because its last reference does, its operations are
/// cancelled, in whatever queues they are: pending ones end at once, running ones are asked to end.
public final class ConcurrentOwner: Sendable {
  let core: Owner
  private let handle: Handle

  /// Makes an owner that may have so many operations which have not ended; one more is refused.
  public init(capacity: Int? = nil) {
    precondition(capacity ?? 1 > 0, "A capacity must be positive; use nil for no limit.")
    handle = Engine.createOwner(capacity: UInt64(capacity ?? 0))
    core = Engine.owner(handle).1!
  }

  deinit { goAway() }

  /// Cancels the owner's operations, and refuses new ones. It may be repeated.
  public func goAway() { _ = Engine.destroy(owner: handle) }
}
