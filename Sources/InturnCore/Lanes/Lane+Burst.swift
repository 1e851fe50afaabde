import Synchronization

/// A drainer's way through the plain jobs at the head of a FIFO lane: it starts one after the other
/// by changing the gate's word, without the lane's lock.
struct Burst {
  let gate: OperationSlot.Pointer
  /// The gate's word, as last seen.
  private var word: OperationWord
  private let jobs: UnsafeMutablePointer<Job>
  private let count: UInt32
  private(set) var done: UInt32 = 0
  private let tokenBits: UInt64
  /// Outcomes other than finished, which the lane does not know yet: it counts each operation that
  /// a burst starts as finished.
  private var ends = EndCounts()
  /// The lane's name in records; zero while nothing is recorded.
  private let traceKey: UInt64
  /// Of the first job, in records.
  private let tracePlace: UInt64

  fileprivate init(_ gate: OperationSlot.Pointer, _ chunk: Chunk.Pointer, _ lane: Lane.Pointer) {
    self.gate = gate
    word = gate.loadWord()
    let first = chunk.pointee.start
    jobs = chunk.jobs + Int(first)
    count = Swift.min(
      chunk.pointee.count - first, OperationSlot.lastGeneration - word.generation)
    tokenBits = Handle(.token, index: gate.pointee.index, generation: 0).bits
    traceKey = Recorder.isOn ? lane.traceKey : 0
    tracePlace = chunk.tracePlace(first)
  }

  /// Starts the next job. Nil when the burst is over: at the chunk's end, before a job that is not
  /// plain or not this drainer's, or when somebody has set `attention`.
  @inline(__always)
  mutating func next(where isOurs: (Job) -> Bool = { _ in true }) -> Job? {
    // `attention` may be set before the first job, by a token of the gate's previous operation.
    guard done < count, !word.contains(.attention) else { return nil }
    let job = jobs[Int(done)]
    guard !job.work.isNone, !job.isTakenOut, isOurs(job) else { return nil }
    // `count` keeps both numbers from overflowing.
    let started = OperationWord(generation: word.generation &+ 1, .started)
    // Fails when somebody has just set `attention`.
    if !gate.pointee.word.compareExchange(
      expected: word.bits, desired: started.bits,
      successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed
    ).exchanged {
      return nil
    }
    word = started
    if traceKey != 0 {
      Self.traceStarted(
        traceKey, token, UInt64(job.work.site.bits) << 48 | tracePlace &+ UInt64(done))
    }
    done &+= 1
    return job
  }

  @_optimize(speed)
  @inline(never)
  private static func traceStarted(_ lane: UInt64, _ token: UInt64, _ other: UInt64) {
    if !Recorder.isOn { return }
    Recorder.noteOften(.started, lane, Handle(bits: token).traceKey, other)
  }

  /// The last work has returned; a start says so of the one before it.
  @inline(__always)
  fileprivate func traceReturned() {
    if traceKey != 0 && done > 0 {
      Recorder.note(.returned, 0, Handle(bits: token).traceKey, 0)
    }
  }

  /// The token of the operation that was started last.
  var token: UInt64 {
    @inline(__always) get { tokenBits | UInt64(word.generation) }
  }

  /// The work has returned. Nil when its operation has not ended. The slot then belongs to that
  /// operation and keeps its context; whoever ends it carries on the lane.
  @inline(__always)
  mutating func returned(
    keeping context: UnsafeMutableRawPointer?, _ destroy: RawDestroy?
  ) -> OperationWord? {
    word = gate.loadWord()
    if word.contains(.ended) { return word }
    gate.pointee.context = context
    gate.pointee.destroy = destroy
    gate.pointee.work = jobs[Int(done) - 1].work
    word = gate.set(.returned).adding(.returned)
    if !word.contains(.ended) { return nil }
    gate.pointee.context = nil
    gate.pointee.destroy = nil
    return word
  }

  /// Counts an operation that is over and whose context has been destroyed.
  @inline(__always)
  mutating func count(_ word: OperationWord) {
    if word.outcome != .finished { ends.add(word.outcome.unsafelyUnwrapped) }
  }

  fileprivate func settleLocked(_ lane: Lane.Pointer) {
    lane.countBurstLocked()
    if ends.sum == 0 { return }
    lane.needExtra().pointee.ends.add(ends)
    lane.pointee.finished -= ends.sum
  }
}

extension UnsafeMutablePointer<Lane> {
  /// Begins a burst at the lane's first chunk, whose first job is plain. Releases the lock.
  @_optimize(speed)
  func beginBurstLocked(_ chunk: Chunk.Pointer, _ budget: inout DrainBudget) -> Burst {
    let burst = Burst(budget.takeGate(for: self), chunk, self)
    pointee.burstGeneration = burst.gate.loadWord().generation
    pointee.machine.flags.insert(.bursting)
    addRunningLocked(burst.gate)
    drainerCallsLocked()
    pointee.lock.unlock()
    return burst
  }

  /// Ends a burst whose operations are over. Leaves the lane locked; false in a forked child, or
  /// when the process exits.
  func endBurst(_ burst: Burst, _ budget: inout DrainBudget) -> Bool {
    burst.traceReturned()
    pointee.lock.lock()
    burst.settleLocked(self)
    drainerReturnsLocked()
    pointee.machine.flags.remove(.bursting)
    removeRunningLocked(burst.gate)
    stageStatesLocked(&budget.outbox)
    return keepOrDrop(burst.gate, &budget)
  }

  /// Ends a burst whose last work has returned without ending its operation. Leaves the lane
  /// locked.
  @_optimize(speed)
  func suspendBurst(_ burst: Burst) {
    burst.traceReturned()
    pointee.lock.lock()
    burst.settleLocked(self)
    drainerReturnsLocked()
    // Whoever ends the operation carries on the lane, and may have done so already. In that case
    // the slot may belong to another operation.
    if pointee.machine.flags.contains(.bursting) { suspendBurstLocked(burst.gate) }
  }

  /// Runs jobs of the lane's first chunk, whose first job is plain.
  @_optimize(speed)
  func runBurstLocked(_ chunk: Chunk.Pointer, _ budget: inout DrainBudget) -> Progress {
    let executor = self.executor
    var burst = beginBurstLocked(chunk, &budget)
    while budget.remaining > 0, let job = burst.next() {
      budget.remaining &-= 1
      job.work.call(job.context, burst.token)
      if !budget.isStillOurs { return .stop }
      guard let word = burst.returned(keeping: job.context, job.destroy) else {
        suspendBurst(burst)
        return .goOn
      }
      if let destroy = job.destroy {
        // A destroy function that may report a batch's end counts as a call.
        if Batch.isDestroy(destroy) {
          let gate = burst.gate
          gate.pointee.context = job.context
          gate.pointee.destroy = destroy
          let isTakenDown = Batch.takeDownAtOnce(gate, word)
          if !isTakenDown && budget.remaining == 0 {
            // The end is delivered in another turn; until then the slot belongs to the operation.
            suspendBurst(burst)
            pointee.lock.unlock()
            gate.addReference()
            return settleReturned(gate, gate.set(.returned), &budget)
          }
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
      burst.count(word)
      if burst.done & 15 == 0 && executor.hasWaiting { break }
    }
    return endBurst(burst, &budget) ? .goOn : .stop
  }

  // MARK: The gate

  /// Keeps a gate that is over for the next lane, or drops it. Called with the lock, which it may
  /// release and take again. False in a forked child, or when the process exits.
  func keepOrDrop(_ gate: OperationSlot.Pointer, _ budget: inout DrainBudget) -> Bool {
    if budget.keep(gate) { return true }
    unlockForCall(&budget)
    gate.dropGate()
    return relock(budget)
  }

  /// Brings the lane's counts up to date with the burst, by the gate's generation, which says how
  /// many operations it has started. May be called any number of times.
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

  /// Ends the burst because its last work has returned without ending its operation, to which the
  /// slot belongs from now on.
  func suspendBurstLocked(_ gate: OperationSlot.Pointer) {
    countBurstLocked()
    pointee.machine.flags.remove(.bursting)
    // It was counted as finished when it started; from now on it is counted when it ends.
    pointee.finished -= 1
    Engine.current.pointee.gates.wrappingSubtract(1, ordering: .relaxed)
  }

  /// Where an operation with a slot was enqueued.
  func siteLocked(of slot: OperationSlot.Pointer) -> Site {
    guard isGateOfBurstLocked(slot) else { return slot.pointee.work.site }
    // A burst's job stays in the chunk while it is called, and its work with it.
    countBurstLocked()
    let chunk = pointee.buffer.head!
    return chunk.pointee.start == 0
      ? .unknown : chunk.jobs[Int(chunk.pointee.start) - 1].work.site
  }

  /// Where the operation was enqueued whose work a frame is calling; unknown in other calls.
  func site(ofCallIn frame: CallFrame) -> Site {
    pointee.lock.lock()
    defer { pointee.lock.unlock() }
    if let slot = frame.operation { return siteLocked(of: slot) }
    guard pointee.machine.flags.contains(.bursting), let gate = firstRunningSlot else {
      return .unknown
    }
    return siteLocked(of: gate)
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
