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
    _ kind: RawValue.Kind, aspect: UInt32, follow: (StateTrail) -> Status
  ) -> (Status, Handle) {
    guard hasMemory else { return (.noMemory, Handle(bits: 0)) }
    let object = ValueObject(stateOf: kind)
    guard let handle = current.pointee.values.add(object) else {
      return (.noMemory, Handle(bits: 0))
    }
    let status = follow(StateTrail.make(object.trail, aspect: aspect) { $0 })
    if status == .ok { return (.ok, handle) }
    _ = current.pointee.values.remove(handle)
    return (status, Handle(bits: 0))
  }

  package static func createValue(_ aspect: QueueAspect, of queue: Handle) -> (Status, Handle) {
    let kind: RawValue.Kind =
      switch aspect {
      case .pending, .running, .nextStart: .integer
      case .suspended: .boolean
      case .progress: .progress
      }
    return createValue(kind, aspect: aspect.rawValue) { follow($0, queue: queue) }
  }

  package static func createValue(
    _ aspect: OperationAspect, of operation: Handle
  ) -> (Status, Handle) {
    let kind: RawValue.Kind = aspect == .state ? .integer : .progress
    return createValue(kind, aspect: aspect.rawValue) { follow($0, operation: operation) }
  }

  package static func createValue(progressOf batch: Handle) -> (Status, Handle) {
    createValue(.progress, aspect: 0) { follow($0, batch: batch) }
  }
}
