/// An observer, as a trail calls it. The trail owns it from the beginning of the observation to its
/// end and releases it without its lock. Its `deinit` destroys the observation's context.
@usableFromInline
package final class TrailObserver<Value> {
  @usableFromInline
  package typealias Call = (TrailEntry<Value>) -> Void
  /// Asks somebody to empty an observation's mailbox, with `runMail` or by pulling. False when
  /// nobody will: the observation then ends.
  @usableFromInline
  package typealias Post = (Trail<Value>, UInt64) -> Bool

  @usableFromInline let call: Call
  @usableFromInline let post: Post?

  /// The queue that calls it, if it owns one.
  @usableFromInline let ownQueue: Handle?

  @usableFromInline
  package init(call: @escaping Call, post: Post? = nil, ownQueue: Handle? = nil) {
    self.call = call
    self.post = post
    self.ownQueue = ownQueue
  }

  deinit {
    if let ownQueue { _ = Engine.destroy(queue: ownQueue) }
  }
}

extension UnsafeRawPointer {
  /// The observer that the machine knows by this name.
  @inlinable
  func observer<Value>(of type: Value.Type) -> Unmanaged<TrailObserver<Value>> {
    Unmanaged.fromOpaque(self)
  }
}
