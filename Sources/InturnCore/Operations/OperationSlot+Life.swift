import Synchronization

/// Taking, retaining and releasing slots.
extension UnsafeMutablePointer<OperationSlot> {
  @inline(__always)
  func loadWord() -> OperationWord {
    OperationWord(bits: pointee.word.load(ordering: .acquiring))
  }

  @inline(__always)
  var lane: Lane.Pointer {
    Lane.Pointer(bitPattern: pointee.laneAddress.load(ordering: .relaxed)).unsafelyUnwrapped
  }

  /// Changes the word by a pure step, retrying until the exchange succeeds. Nil, with nothing
  /// changed, when the step returns nil.
  @inline(__always)
  func change(_ step: (OperationWord) -> OperationWord?) -> OperationWord? {
    var current = pointee.word.load(ordering: .acquiring)
    while let next = step(OperationWord(bits: current)) {
      let (exchanged, original) = pointee.word.weakCompareExchange(
        expected: current, desired: next.bits,
        successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
      if exchanged { return next }
      current = original
    }
    return nil
  }

  /// Sets flags and returns the previous word.
  @inline(__always)
  func set(_ flags: OperationWord.Flags) -> OperationWord {
    OperationWord(
      bits: pointee.word.bitwiseOr(
        UInt64(flags.rawValue), ordering: .acquiringAndReleasing
      ).oldValue)
  }

  /// Takes a slot for a lane, with these flags and references; nil when memory runs out. `isKept`
  /// takes a reserved one, for starting operations that have none. The references are set before
  /// the slot can be found: a lookup by a stale handle adds one for a moment, which must not be
  /// lost.
  @_optimize(speed)
  @inline(__always)
  static func take(
    for lane: Lane.Pointer, _ laneGeneration: UInt32, _ flags: OperationWord.Flags,
    references: UInt32 = 1, isKept: Bool = false
  ) -> Self? {
    guard let (index, slot) = Engine.current.pointee.operations.take(isKept: isKept)
    else { return nil }
    let generation = Swift.max(
      1,
      OperationWord(
        bits: slot.pointee.word.load(ordering: .relaxed)
      ).generation)
    // Written only once, as others read it without a reference.
    if slot.pointee.index != index { slot.pointee.index = index }
    slot.adopt(by: lane, laneGeneration)
    // Releasing: whoever sees the new generation also sees the lane.
    slot.pointee.word.store(
      OperationWord(generation: generation, flags).bits, ordering: .releasing)
    slot.pointee.references.store(references, ordering: .releasing)
    return slot
  }

  @inline(__always)
  func adopt(by lane: Lane.Pointer, _ laneGeneration: UInt32) {
    // Releasing: whoever sees the new lane also sees that the slot has left its previous operation.
    pointee.laneAddress.store(UInt(bitPattern: lane), ordering: .releasing)
    pointee.laneGeneration = laneGeneration
  }

  @inline(__always)
  func addReference() { pointee.references.wrappingAdd(1, ordering: .relaxed) }

  /// Adds a reference to a slot that may be free. False when it is free.
  func tryAddReference() -> Bool {
    var count = pointee.references.load(ordering: .relaxed)
    while count != 0 {
      let (exchanged, original) = pointee.references.weakCompareExchange(
        expected: count, desired: count + 1,
        successOrdering: .acquiring, failureOrdering: .relaxed)
      if exchanged { return true }
      count = original
    }
    return false
  }

  /// Drops a reference. The last one destroys the result, which is user code, so no lock is held
  /// where it may be the last.
  func dropReference() {
    if dropReferenceWithoutRecycling() { recycle() }
  }

  /// The same for a caller that cannot allow user code to be called. True for the last reference;
  /// the caller then recycles the slot later.
  func dropReferenceWithoutRecycling() -> Bool {
    pointee.references.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0
  }

  /// Drops several references of a slot that has nothing to destroy.
  @inline(__always)
  func dropReferences(_ count: UInt32) {
    let left = pointee.references.wrappingSubtract(count, ordering: .acquiringAndReleasing)
    if left.newValue == 0 { recycle() }
  }

  /// Drops a gate, which no operation uses.
  @_optimize(speed)
  func dropGate() {
    Engine.current.pointee.gates.wrappingSubtract(1, ordering: .relaxed)
    dropReference()
  }

  /// Frees a slot that nothing refers to any more.
  @_optimize(speed)
  @inline(never)
  func recycle() {
    if let destroy = pointee.resultDestroy { destroy(pointee.result) }
    var party: Party?
    if let details = pointee.details {
      if details.pointee.isLean {
        Engine.current.pointee.leanDetails.giveBack(details)
      } else {
        party = details.destroy()
      }
    }
    pointee.work = .none
    pointee.context = nil
    pointee.destroy = nil
    pointee.details = nil
    pointee.nextDelivery = nil
    pointee.result = nil
    pointee.resultDestroy = nil
    pointee.code = 0
    pointee.cause = .none
    pointee.reports = 0
    pointee.flags = []
    pointee.enqueuedAt = 0
    pointee.startedAt = 0
    pointee.endedAt = 0
    let generation = OperationWord(bits: pointee.word.load(ordering: .relaxed)).generation + 1
    pointee.word.store(OperationWord(generation: generation).bits, ordering: .releasing)
    Engine.current.pointee.operations.giveBack(
      pointee.index, retired: generation > OperationSlot.lastGeneration)
    withExtendedLifetime(party) {}
  }

  // MARK: By handle

  /// Releases the handle without taking a reference. False when the caller has to go the long way,
  /// which also finds out what is wrong.
  @_optimize(speed)
  @inline(__always)
  static func releaseAtOnce(_ handle: Handle) -> Bool {
    guard handle.isOf(.operation),
      let slot = Engine.current.pointee.operations.pointer(at: handle.index)
    else { return false }
    let changed = slot.change {
      $0.generation == handle.generation && !$0.contains(.reattempted)
        ? $0.givingHandleUp() : nil
    }
    if changed != nil { slot.dropReference() }
    return changed != nil
  }

  /// The slot that a handle names, with a reference for the caller, or why there is none.
  private static func find(
    _ handle: Handle, as kind: HandleKind, if flag: OperationWord.Flags
  ) -> (Status, Self?) {
    guard handle.isOf(kind), let slot = Engine.current.pointee.operations.pointer(at: handle.index)
    else { return (handle.refusal(for: kind), nil) }
    guard slot.tryAddReference() else { return (slot.refusal(of: handle, as: kind), nil) }
    let word = slot.loadWord()
    if slot.isNamed(by: handle, as: kind, word) && word.contains(flag) { return (.ok, slot) }
    let refusal = slot.refusal(of: handle, as: kind)
    slot.dropReference()
    return (refusal, nil)
  }

  private func isNamed(by handle: Handle, as kind: HandleKind, _ word: OperationWord) -> Bool {
    if kind == .operation && word.contains([.handleHeld, .reattempted]) {
      // Written once, before the flag.
      return plan!.pointee.handleGeneration == handle.generation
    }
    return word.generation == handle.generation
  }

  private func refusal(of handle: Handle, as kind: HandleKind) -> Status {
    let word = loadWord()
    let isOver =
      word.generation > handle.generation
      // Its last reference may have gone just now, and the next generation not have been stored
      // yet.
      || (word.generation == handle.generation && word.contains([.started, .claimed]))
    let isPast = kind == .token && handle.generation != 0 && isOver
    return isPast ? .alreadyFinished : handle.refusal(for: kind)
  }

  /// The operation that a handle names, with a reference for the caller.
  static func find(operation handle: Handle) -> (Status, Self?) {
    find(handle, as: .operation, if: .handleHeld)
  }

  /// The operation with this id in a snapshot, whether or not its handle is held, with a reference
  /// for the caller.
  static func find(told id: Handle) -> (Status, Self?) {
    guard id.isOf(.operation), let slot = Engine.current.pointee.operations.pointer(at: id.index),
      slot.tryAddReference()
    else { return (.stale, nil) }
    let isIt = slot.firstGeneration == id.generation && !slot.loadWord().contains(.segment)
    if isIt { return (.ok, slot) }
    slot.dropReference()
    return (.stale, nil)
  }

  /// The operation that a token belongs to, with a reference for the caller.
  static func find(token: Handle) -> (Status, Self?) {
    find(token, as: .token, if: .started)
  }

  /// A segment's operation, of which the segment holds a reference.
  var segmentOperation: Self {
    get { pointee.result.unsafelyUnwrapped.assumingMemoryBound(to: OperationSlot.self) }
    nonmutating set { pointee.result = UnsafeMutableRawPointer(newValue) }
  }

  /// The generation of the attempt that a segment belongs to.
  var segmentGeneration: UInt32 {
    get { UInt32(bitPattern: pointee.code) }
    nonmutating set { pointee.code = Int32(bitPattern: newValue) }
  }

  /// The generation of its first attempt, as in its handle. The caller holds a reference.
  var firstGeneration: UInt32 {
    let word = loadWord()
    // Written once, before the flag.
    return word.contains(.reattempted) ? plan!.pointee.handleGeneration : word.generation
  }

  @inline(__always)
  func handle(_ kind: HandleKind) -> Handle {
    Handle(kind, index: pointee.index, generation: loadWord().generation)
  }
}
