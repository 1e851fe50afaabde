import Synchronization

/// How much an executor may still call before it is to look up.
package struct DrainBudget {
  /// How many calls are left.
  package var remaining: Int
  /// Whether the lane that is being drained has had a call.
  var hasCalled = false
  /// Operations with this work are given to the host, one at a time, instead of being called. Zero: none.
  let wanted: UInt
  /// The one that was given.
  package private(set) var given: GivenOperation?
  /// The process state that the drain began in. Another one means that a call has forked and this
  /// is the child, or that the process exits: then nothing of the engine is touched any more.
  let process = ProcessState.current
  /// The executor that drains, for comparing only. Nil outside the engine's own.
  private(set) var executor: UnsafeRawPointer?
  /// A slot that the last lane was drained with and the next one may use.
  private var spareGate: OperationSlot.Pointer?
  /// The operation that its drainer starts next, which is in no buffer; only from the moment at
  /// which it is found until it is started, while its lane stays locked.
  var next: OperationSlot.Pointer?
  /// What is to be done when the lane that is being drained is unlocked.
  var outbox = Outbox()

  @inline(__always)
  var isStillOurs: Bool { ProcessState.current == process }

  var isForkedChild: Bool { (ProcessState.current ^ process) & ~ProcessState.exitingBit != 0 }

  package init(remaining: Int, wanted: RawWork? = nil) {
    self.remaining = remaining
    self.wanted = unsafeBitCast(wanted, to: UInt.self)
  }

  @inline(__always)
  mutating func begin(at executor: Executor) {
    self.executor = UnsafeRawPointer(Unmanaged.passUnretained(executor).toOpaque())
  }

  /// Gives a started operation, whose context is the host's from now on, or calls its work.
  @inline(__always)
  mutating func call(_ slot: OperationSlot.Pointer, _ token: Handle) {
    if wanted != 0 && wanted == slot.pointee.work.address {
      given = GivenOperation(context: slot.pointee.context, token: token)
      slot.pointee.destroy = nil
      remaining = 0
    } else {
      slot.pointee.work.call(slot.pointee.context, token.bits)
    }
  }

  // MARK: The gate

  /// A slot whose word says "over", for a lane, which is locked, to start operations with.
  @_optimize(speed)
  mutating func takeGate(for lane: Lane.Pointer) -> OperationSlot.Pointer {
    if let gate = spareGate {
      spareGate = nil
      if gate.loadWord().generation < OperationSlot.lastGeneration {
        gate.adopt(by: lane, lane.pointee.generation)
        return gate
      }
      gate.dropGate()
    }
    while true {
      guard
        let gate = OperationSlot.Pointer.take(
          for: lane, lane.pointee.generation, .over, isKept: true)
      else { Engine.outOfMemory() }
      Engine.current.pointee.gates.wrappingAdd(1, ordering: .relaxed)
      if gate.loadWord().generation < OperationSlot.lastGeneration { return gate }
      // It is retired by that.
      gate.dropGate()
    }
  }

  /// Keeps a gate that is over for the next lane. False when it has something to clean up, or there is
  /// one already.
  @_optimize(speed)
  mutating func keep(_ gate: OperationSlot.Pointer) -> Bool {
    if !gate.isClean || spareGate != nil { return false }
    // The next lane's gate begins without the marks that this lane's callers have left.
    gate.pointee.word.store(
      OperationWord(generation: gate.loadWord().generation, .over).bits, ordering: .releasing)
    spareGate = gate
    return true
  }

  /// At the end of the executor's turn. In a forked child, the slot is its parent's.
  mutating func dropSpareGate() {
    if isStillOurs { spareGate?.dropGate() }
    spareGate = nil
  }
}
