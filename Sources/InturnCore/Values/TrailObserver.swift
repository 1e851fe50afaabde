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

  /// The queue that calls it, if one does, and whether it is the observer's own.
  @usableFromInline let queue: Handle?
  @usableFromInline let ownsQueue: Bool

  @usableFromInline
  package init(call: @escaping Call, post: Post? = nil) {
    self.call = call
    self.post = post
    queue = nil
    ownsQueue = false
  }

  /// One that is called on a queue.
  package init(call: @escaping Call, on queue: Handle, ownsQueue: Bool = false) {
    self.call = call
    post = Self.post(on: queue)
    self.queue = queue
    self.ownsQueue = ownsQueue
  }

  deinit {
    if ownsQueue { _ = Engine.destroy(queue: queue.unsafelyUnwrapped) }
  }
}

extension UnsafeRawPointer {
  /// The observer that the machine knows by this name.
  @inlinable
  func observer<Value>(of type: Value.Type) -> Unmanaged<TrailObserver<Value>> {
    Unmanaged.fromOpaque(self)
  }
}
