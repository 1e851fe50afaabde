import CInturnSystem
import Synchronization

/// How many calls an executor may still make in this turn, and what a drainer carries from one lane
/// to the next.
package struct DrainBudget {
  /// How many calls are left.
  package var remaining: Int
  /// Whether a call has been made for the lane that is being drained.
  var hasCalled = false
  /// Operations with this work are given to the host, one at a time, rather than called. Zero:
  /// none.
  let wanted: UInt
  /// The operation that was given to the host.
  package private(set) var given: GivenOperation?
  /// The process state when the drain began. A different one means that a call has forked and this
  /// is the child, or that the process exits; nothing of the engine may be touched then. That is so
  /// from the start when the process exits already.
  let process: UInt32
  /// The executor that drains, for comparisons only. Nil if it is not one of the engine's.
  private(set) var executor: UnsafeRawPointer?
  /// The number of the thread that drains; 0 if that is not known.
  private(set) var thread: UInt64 = 0
  /// A gate that the last lane has returned and the next one may use.
  private var spareGate: OperationSlot.Pointer?
  /// The operation to start next, which is in no buffer. Set only from the moment it is found until
  /// it is started, while its lane stays locked.
  var next: OperationSlot.Pointer?
  /// What is done when the lane that is being drained is unlocked.
  var outbox = Outbox()

  @inline(__always)
  var isStillOurs: Bool { ProcessState.current == process }

  var isForkedChild: Bool { ProcessState.isForked(since: process) }

  /// `atExit`: makes calls also when the process exits already.
  package init(remaining: Int, wanted: RawWork? = nil, atExit: Bool = false) {
    self.remaining = remaining
    self.wanted = unsafeBitCast(wanted, to: UInt.self)
    process = ProcessState.current & (atExit ? ~0 : ~ProcessState.exitingBit)
  }

  @inline(__always)
  mutating func begin(at executor: Executor) {
    self.executor = UnsafeRawPointer(Unmanaged.passUnretained(executor).toOpaque())
    thread = inturn_system_thread_number()
  }

  /// Whether one of the engine's executors drains, and not this one.
  @inline(__always)
  func isElsewhere(than current: Unmanaged<Executor>) -> Bool {
    executor != nil && executor != UnsafeRawPointer(current.toOpaque())
  }

  /// Calls an operation's work, or gives the started operation to the host, which then owns the
  /// context.
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

  /// A slot whose word says "over", with which a locked lane can start operations.
  @_optimize(speed)
  mutating func takeGate(for lane: Lane.Pointer) -> OperationSlot.Pointer {
    if let gate = spareGate {
      spareGate = nil
      if gate.loadWord().generation < OperationSlot.lastGeneration {
        gate.adopt(by: lane, lane.pointee.generation)
        gate.pointee.caller = thread
        return gate
      }
      gate.dropGate()
    }
    while true {
      guard
        let gate = OperationSlot.Pointer.take(
          for: lane, lane.pointee.generation, .over, isKept: true)
      else { inturn_system_end_without_memory() }
      Engine.current.pointee.gates.wrappingAdd(1, ordering: .relaxed)
      gate.pointee.caller = thread
      if gate.loadWord().generation < OperationSlot.lastGeneration { return gate }
      // Dropping it retires it.
      gate.dropGate()
    }
  }

  /// Keeps a gate that is over for the next lane. False when it contains something to clean up, or
  /// a gate is kept already.
  @_optimize(speed)
  mutating func keep(_ gate: OperationSlot.Pointer) -> Bool {
    if !gate.isClean || spareGate != nil { return false }
    // Clears the marks that this lane's callers have left.
    gate.pointee.word.store(
      OperationWord(generation: gate.loadWord().generation, .over).bits, ordering: .releasing)
    spareGate = gate
    return true
  }

  /// Called at the end of the executor's turn. In a forked child, the slot is the parent's.
  mutating func dropSpareGate() {
    if isStillOurs { spareGate?.dropGate() }
    spareGate = nil
  }
}
