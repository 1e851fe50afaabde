/// What a trail calls. The trail owns it, from the observation's begin to its end, and lets go of
/// it outside its lock; its `deinit` is where an observation's context ends.
@usableFromInline
package final class TrailObserver<Value> {
  @usableFromInline
  package typealias Call = (TrailEntry<Value>) -> Void
  /// Asks somebody to look into the mailbox of an observation: to call `runMail`, or to pull.
  /// False when nobody does: then the observation ends.
  @usableFromInline
  package typealias Post = (Trail<Value>, UInt64) -> Bool

  @usableFromInline let call: Call
  @usableFromInline let post: Post?

  /// The queue that calls it, when that is its own.
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
  /// An observer by the name that the machine has of it.
  @inlinable
  func observer<Value>(of type: Value.Type) -> Unmanaged<TrailObserver<Value>> {
    Unmanaged.fromOpaque(self)
  }
}
