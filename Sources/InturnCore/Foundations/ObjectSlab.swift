/// Objects of one kind with handles: a slab of references.
///
/// A handle is checked, and its object retained, under the lock of its slot.
struct ObjectSlab<Object: AnyObject>: ~Copyable {
  private let kind: HandleKind
  private let slots: Slab<ObjectSlot>

  @inline(never)
  init(_ kind: HandleKind, above floor: UInt32 = 0, _ directories: SlabDirectories) {
    self.kind = kind
    slots = Slab(above: floor, directories)
  }

  var liveCount: UInt64 { slots.liveCount }

  var highestIndex: UInt32 { slots.highestIndex }

  /// Nil when memory runs out.
  func add(_ object: Object) -> Handle? {
    guard let (index, slot) = slots.take() else { return nil }
    slot.pointee.lock.lock()
    slot.pointee.generation += 1
    slot.pointee.object = Unmanaged.passRetained(object).toOpaque()
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
    let found = Unmanaged<Object>.fromOpaque(object).takeUnretainedValue()
    slot.pointee.lock.unlockAfterReadingObject()
    return (.ok, found)
  }

  /// The indices that may have been given out so far.
  var givenOut: Range<UInt32> { slots.givenOut }

  /// The object at one of them, if there is one.
  func object(at index: UInt32) -> (handle: Handle, object: Object)? {
    guard let slot = slots.pointer(at: index) else { return nil }
    let generation = slot.pointee.lock.withLock { slot.pointee.generation }
    let handle = Handle(kind, index: index, generation: generation)
    return find(handle).1.map { (handle, $0) }
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
    slot.pointee.lock.unlock()
    slots.giveBack(handle.index, retired: handle.generation == Handle.maximumGeneration)
    return Unmanaged<Object>.fromOpaque(object).takeRetainedValue()
  }
}

/// The same for all kinds of objects, so that there is one slab's code for them.
struct ObjectSlot: ~Copyable {
  // First, for the thread sanitizer; see `Lane`.
  /// `lock` protects it and `object`. Zero before the first use.
  var generation: UInt32
  let lock: BriefLock
  /// Retained.
  var object: UnsafeMutableRawPointer?
}
