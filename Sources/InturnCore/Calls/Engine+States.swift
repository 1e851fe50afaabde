/// States of the engine's objects that can be observed as values.
extension Engine {
  /// Makes a trail, which nobody else knows yet, follow a state of a queue.
  package static func follow(_ trail: StateTrail, queue: Handle) -> Status {
    withLocked(queue, or: ()) { lane, outbox in lane.followLocked(trail, &outbox) }.0
  }

  /// The same for a state of an operation.
  package static func follow(_ trail: StateTrail, operation: Handle) -> Status {
    withSlot(operation: operation) { $0.follow(trail) }
  }

  /// The same for a batch's progress.
  package static func follow(_ trail: StateTrail, batch: Handle) -> Status {
    let (status, found) = self.batch(batch)
    found?.follow(trail)
    return status
  }

  // MARK: By handle

  /// Creates a value that shows a state. Its holder can only read and observe it.
  private static func createValue(
    aspect: UInt32 = 0, follow: (StateTrail) -> Status
  ) -> (Status, Handle) {
    let none = Handle(bits: 0)
    guard hasMemory else { return (.noMemory, none) }
    let object = ValueObject()
    guard let handle = current.pointee.values.add(object) else { return (.noMemory, none) }
    let status = follow(StateTrail.make(object.trail, aspect: aspect) { $0 })
    if status == .ok {
      object.kind = object.trail.value.kind
      return (.ok, handle)
    }
    _ = current.pointee.values.remove(handle)
    return (status, none)
  }

  package static func createValue(_ aspect: QueueAspect, of queue: Handle) -> (Status, Handle) {
    createValue(aspect: aspect.rawValue) { follow($0, queue: queue) }
  }

  package static func createValue(
    _ aspect: OperationAspect, of operation: Handle
  ) -> (Status, Handle) {
    createValue(aspect: aspect.rawValue) { follow($0, operation: operation) }
  }

  package static func createValue(progressOf batch: Handle) -> (Status, Handle) {
    createValue { follow($0, batch: batch) }
  }
}
