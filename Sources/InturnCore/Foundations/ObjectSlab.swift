/// Many objects with handles: a slab of references.
///
/// A handle is checked, and its object retained, under the lock of its slot.
struct ObjectSlab<Object: AnyObject>: ~Copyable {
  struct Slot: ~Copyable {
    // First, for the thread sanitizer; see `Lane`.
    /// `lock` protects it and `object`. Zero before the first use.
    var generation: UInt32
    let lock: BriefLock
    var object: Unmanaged<Object>?
  }

  private let kind: HandleKind
  private let slots: Slab<Slot>

  init?(kind: HandleKind, above floor: UInt32) {
    guard let slots = Slab<Slot>(above: floor) else { return nil }
    self.kind = kind
    self.slots = slots
  }

  var liveCount: UInt64 { slots.liveCount }

  var highestIndex: UInt32 { slots.highestIndex }

  /// Nil when memory runs out.
  func add(_ object: Object) -> Handle? {
    guard let (index, slot) = slots.take() else { return nil }
    slot.pointee.lock.lock()
    slot.pointee.generation += 1
    slot.pointee.object = .passRetained(object)
    let handle = Handle(kind, index: index, generation: slot.pointee.generation)
    slot.pointee.lock.unlock()
    return handle
  }

  /// The object that a handle names, or why there is none.
  @inline(__always)
  func find(_ handle: Handle) -> (Status, Object?) {
    guard handle.isOf(kind), let slot = slots.pointer(at: handle.index) else {
      return (handle.refusal(for: kind), nil)
    }
    slot.pointee.lock.lock()
    guard slot.pointee.generation == handle.generation, let object = slot.pointee.object else {
      slot.pointee.lock.unlock()
      return (handle.refusal(for: kind), nil)
    }
    let found = object.takeUnretainedValue()
    slot.pointee.lock.unlockAfterReadingObject()
    return (.ok, found)
  }

  /// Makes the handle stale and returns its object; nil when it was stale already.
  func remove(_ handle: Handle) -> Object? {
    guard handle.isOf(kind), let slot = slots.pointer(at: handle.index) else { return nil }
    slot.pointee.lock.lock()
    guard slot.pointee.generation == handle.generation, let object = slot.pointee.object else {
      slot.pointee.lock.unlock()
      return nil
    }
    slot.pointee.object = nil
    let isUsedUp = slot.pointee.generation == Handle.maximumGeneration
    slot.pointee.lock.unlock()
    slots.giveBack(handle.index, retired: isUsedUp)
    return object.takeRetainedValue()
  }
}
