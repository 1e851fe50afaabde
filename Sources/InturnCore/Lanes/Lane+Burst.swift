import Synchronization

/// The fast way through a FIFO lane: operations without options or handle, one after the other,
/// without the lock.
extension UnsafeMutablePointer<Lane> {
  /// Runs jobs of the chunk, which is the lane's first and begins with such a job.
  func runBurstLocked(_ chunk: Chunk.Pointer, _ budget: inout DrainBudget) -> Lane.Pointer.Progress
  {
    let gate = takeGateLocked(&budget)
    var word = gate.loadWord()
    let first = chunk.pointee.start
    let generations = OperationSlot.lastGeneration - word.generation
    let count = Swift.min(chunk.pointee.count - first, generations)
    pointee.burstGeneration = word.generation
    pointee.machine.flags.insert(.bursting)
    addRunningLocked(gate)
    let executor = self.executor
    pointee.lock.unlock()

    let jobs = chunk.jobs + Int(first)
    let tokenBits = Handle(.token, index: gate.pointee.index, generation: 0).bits
    var done: UInt32 = 0
    var unfinished = Unfinished()
    var isSuspended = false
    var isUndelivered = false
    // The mark may be there before the first: of a token of the operation that the gate served last.
    while done < count && budget.remaining > 0 && !word.contains(.attention) {
      let job = jobs[Int(done)]
      guard let work = job.work, !job.isTakenOut else { break }
      let started = OperationWord(generation: word.generation + 1, .started)
      if !gate.pointee.word.compareExchange(
        expected: word.bits, desired: started.bits,
        successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed
      ).exchanged {
        break
      }
      budget.remaining -= 1
      work(job.context, tokenBits | UInt64(started.generation))
      if !budget.isStillOurs { return .stop }
      done += 1
      word = gate.loadWord()
      if !word.contains(.ended) {
        // Who ends it later finds its context in the slot.
        gate.pointee.context = job.context
        gate.pointee.destroy = job.destroy
        word = gate.set(.returned).adding(.returned)
        if !word.contains(.ended) {
          isSuspended = true
          break
        }
        gate.pointee.context = nil
        gate.pointee.destroy = nil
      }
      if let destroy = job.destroy {
        // What may tell the end of a list of operations is a call by itself.
        if Batch.isDestroy(destroy) {
          gate.pointee.context = job.context
          gate.pointee.destroy = destroy
          let isTakenDown = Batch.takeDownAtOnce(gate, word)
          isUndelivered = !isTakenDown && budget.remaining == 0
          if isUndelivered { break }
          gate.pointee.context = nil
          gate.pointee.destroy = nil
          if !isTakenDown {
            budget.remaining -= 1
            destroy(job.context)
          }
        } else {
          destroy(job.context)
        }
        if !budget.isStillOurs { return .stop }
      }
      if word.outcome != .finished { unfinished.count(word.outcome!) }
      if done & 15 == 0 && executor.hasWaiting { break }
    }

    pointee.lock.lock()
    countBurstLocked()
    if unfinished.isAny { unfinished.settle(self) }
    if isSuspended {
      // Whoever ends it goes on with it, and may have done so: then the burst has ended, and the
      // slot may be another's.
      if pointee.machine.flags.contains(.bursting) { suspendBurstLocked(gate) }
      return .goOn
    }
    if isUndelivered {
      // Its end is delivered in another turn; the slot is the operation's until then.
      suspendBurstLocked(gate)
      pointee.lock.unlock()
      gate.addReference()
      return settleReturned(gate, gate.set(.returned), &budget)
    }
    pointee.machine.flags.remove(.bursting)
    removeRunningLocked(gate)
    countGateLocked(&budget.outbox)
    return keepOrDrop(gate, &budget) ? .goOn : .stop
  }

  /// What the drainer counts for itself while it has no lock.
  struct Unfinished {
    private var failed: UInt32 = 0
    private var cancelled: UInt32 = 0
    private var abandoned: UInt32 = 0
    private(set) var isAny = false

    mutating func count(_ outcome: Outcome) {
      isAny = true
      switch outcome {
      case .failed: failed += 1
      case .cancelled: cancelled += 1
      case .abandoned: abandoned += 1
      case .finished, .timedOut: break
      }
    }

    func settle(_ lane: Lane.Pointer) {
      let extra = lane.needExtra()
      extra.pointee.failed += UInt64(failed)
      extra.pointee.cancelled += UInt64(cancelled)
      extra.pointee.abandoned += UInt64(abandoned)
      lane.pointee.finished -= UInt64(failed + cancelled + abandoned)
    }
  }

  // MARK: The gate

  /// A slot whose word says "over", to start operations with.
  func takeGateLocked(_ budget: inout DrainBudget) -> OperationSlot.Pointer {
    let over: OperationWord.Flags = [.started, .returned, .claimed, .ended]
    if let gate = budget.spareGate {
      budget.spareGate = nil
      if gate.loadWord().generation < OperationSlot.lastGeneration {
        gate.adopt(by: self, pointee.generation)
        return gate
      }
      gate.dropGate()
    }
    while true {
      guard let gate = OperationSlot.Pointer.take(for: self, pointee.generation, over) else {
        Self.outOfMemory()
      }
      Engine.current.pointee.gates.wrappingAdd(1, ordering: .relaxed)
      if gate.loadWord().generation < OperationSlot.lastGeneration { return gate }
      // It is retired by that.
      gate.dropGate()
    }
  }

  /// Keeps a gate that is over for the next lane, or lets go of it when it has something to clean
  /// up. Called with the lock, which it may give up and take again;
  /// false when the process is not the same any more.
  func keepOrDrop(_ gate: OperationSlot.Pointer, _ budget: inout DrainBudget) -> Bool {
    if gate.isClean && budget.spareGate == nil {
      // The next lane's gate begins without the marks that this lane's callers have left.
      gate.pointee.word.store(
        OperationWord(
          generation: gate.loadWord().generation, [.started, .returned, .claimed, .ended]
        ).bits, ordering: .releasing)
      budget.spareGate = gate
      return true
    }
    unlockForCall(&budget)
    gate.dropGate()
    return relock(budget)
  }

  /// Brings the lane's counts up to where the burst is. Any number of times; the gate's generation
  /// says how many operations it has started.
  func countBurstLocked() {
    guard pointee.machine.flags.contains(.bursting), let gate = firstRunningSlot else { return }
    let generation = gate.loadWord().generation
    let started = generation - pointee.burstGeneration
    pointee.burstGeneration = generation
    if started == 0 { return }
    pointee.buffer.head!.pointee.start += started
    pointee.pending -= started
    pointee.finished += UInt64(started)
  }

  /// Ends the burst whose gate's operation has returned from its work unfinished. The slot is that
  /// operation's from now on.
  func suspendBurstLocked(_ gate: OperationSlot.Pointer) {
    countBurstLocked()
    pointee.machine.flags.remove(.bursting)
    // Counted when it was started; from now on it is counted when it ends.
    pointee.finished -= 1
    Engine.current.pointee.gates.wrappingSubtract(1, ordering: .relaxed)
  }

  func isGateOfBurstLocked(_ slot: OperationSlot.Pointer) -> Bool {
    pointee.machine.flags.contains(.bursting) && pointee.firstRunning == slot.pointee.index
  }

  /// Makes the drainer of a burst take the lock before it starts another operation; until the
  /// caller gives the lock up, the lane's counts are exact and nothing starts.
  func stopBurstLocked() {
    guard pointee.machine.flags.contains(.bursting), let gate = firstRunningSlot else { return }
    _ = gate.set(.attention)
    countBurstLocked()
  }
}

extension UnsafeMutablePointer<OperationSlot> {
  /// Whether a gate's last operation has left nothing in it.
  @inline(__always)
  var isClean: Bool {
    pointee.details == nil && pointee.result == nil && pointee.resultDestroy == nil
      && pointee.code == 0
  }
}
