import CInturnSystem
import Synchronization

/// The options of a batch, checked; see `inturn_batch_options`.
package struct BatchOptions {
  package var policy = BatchPolicy.all
  package var enough = 0
  /// The options of each operation, without an end callback.
  package var operation: OperationOptions?
  package var onEnd: (@Sendable (Batch) -> Void)?
  /// Valid only while the batch is enqueued.
  package var edges = UnsafeBufferPointer<BatchEdge>(start: nil, count: 0)
  package var site = Site.unknown

  package init() {}
}

/// Operations of one queue with one completion.
///
/// Each operation has an entry here, which serves its lane as the operation's context. The context
/// is destroyed last of all: that is when the batch records the end. The batch retains itself until
/// its last end.
///
/// Operations with options have slots from the start and are cancelled like any operation. The
/// others are bare jobs, which the lane can only take out together, while they wait; those that it
/// cannot take out any more give up when they are started.
package final class Batch: @unchecked Sendable {
  // Safe to share: `lock` protects everything that changes after the enqueue.

  /// Protects `decision`, `isComplete`, `states`, and the entries' slots and ends.
  let lock = BriefLock()
  @exclusivity(unchecked) private var decision: BatchDecision
  @exclusivity(unchecked) private(set) var isComplete = false
  /// The observed values of its progress.
  @exclusivity(unchecked) private var states: [StateTrail] = []
  let entries: UnsafeMutablePointer<BatchEntry>
  package let count: Int
  let queue: Handle
  let site: Site
  /// The label of each operation. Slots have copies, which do not live as long.
  private let label: UnsafeMutablePointer<CChar>?
  private let onEnd: (@Sendable (Batch) -> Void)?
  private let condition: RawCondition?
  /// A copy of the pointer, as each access to a static constant checks whether it is initialised.
  private let finished = BatchEntry.finished
  private let decide: RetryPolicy.RawDecide?
  /// Operations that are started now give up. Sequentially consistent, like the entries' tokens: a
  /// canceller sets this and then looks for tokens, while a starter stores its token and then looks
  /// here. So at least one of them sees the other.
  private let isStopped = Atomic<Bool>(false)
  /// Whether the first operation that does not finish stops the rest, and whether one has. Set before
  /// its place is free, so that what gets the place gives up. Relaxed: both are under the lane's lock.
  private let stopsAtFailure: Bool
  private let hasFailed = Atomic<Bool>(false)
  /// Changes when the batch is complete; threads that wait for that sleep on it.
  let wakeups = WakeWord.make()
  /// Whether somebody waits, or once waited, for completion. Relaxed: only a report depends on it.
  let hasWaiter = Atomic<Bool>(false)
  /// Whether the operations have no slots; set before they are enqueued.
  @exclusivity(unchecked) var isBare = false
  /// How many jobs that were taken out remain in the lane's buffers. The lane's lock protects it.
  @exclusivity(unchecked) private var tombstones = 0
  /// The graph of operations that depend on others; set before they are enqueued.
  @exclusivity(unchecked) private(set) var graph: BatchGraph.Pointer?
  /// Set before the operations are enqueued.
  @exclusivity(unchecked) package internal(set) var handle = Handle(bits: 0)
  /// Who may use the handle. The engine's object lock protects it.
  @exclusivity(unchecked) var use = Use()

  struct Use {
    /// Somebody has asked for the handle and not released it.
    var isHeld = false
    /// The thread that is calling the completion, which is passed the handle; zero for none.
    var completer: UInt = 0
    var isComplete = false
  }

  /// Nil when memory runs out.
  init?(_ options: BatchOptions, queue: Handle, count: Int) {
    guard let entries = Engine.current.pointee.batchMemory.take(count) else { return nil }
    self.entries = entries
    self.count = count
    self.queue = queue
    site = options.site
    label = options.operation?.label?.copied()
    onEnd = options.onEnd
    stopsAtFailure = options.policy == .firstError
    condition = options.operation?.condition
    decide = options.operation?.retry?.decide
    decision = BatchDecision(policy: options.policy, count: count, enough: options.enough)
  }

  deinit {
    // The entries of a refused batch have no ends, or are not initialised.
    let last = isComplete ? count : 0
    for entry in entries..<entries + last { entry.destroyEnd() }
    Engine.current.pointee.batchMemory.giveBack(entries)
    holdNothing()
    label?.deallocate()
    wakeups.deallocate()
  }

  func fill(_ index: Int, with item: BatchItem) -> UnsafeMutablePointer<BatchEntry> {
    (entries + index).initialize(to: BatchEntry(item: item, batch: Unmanaged.passUnretained(self)))
    return entries + index
  }

  /// The job by which a lane knows an operation without a slot.
  @inline(__always)
  func job(at place: Int) -> Job { Job(batch: entries + place, at: site) }

  /// Sets up the graph by which dependent operations are held. `options` are those of their slots,
  /// if they have any. False when memory runs out.
  func hold(_ edges: UnsafeBufferPointer<BatchEdge>, _ options: OperationOptions? = nil) -> Bool {
    if edges.isEmpty { return true }
    guard
      let new = BatchGraph(
        edges, count: count, batch: Unmanaged.passUnretained(self), hasSlots: options != nil,
        needsFinished: options?.needsFinished == true)
    else { return false }
    let graph = BatchGraph.Pointer.allocate(capacity: 1)
    graph.initialize(to: new)
    self.graph = graph
    return true
  }

  func isHeld(_ place: Int) -> Bool { graph?.pointee.isHeld(place) == true }

  func holdNothing() {
    graph?.deinitialize(count: 1)
    graph?.deallocate()
    graph = nil
  }

  /// The operations are about to be accepted: the batch retains itself until it is complete.
  func willBeEnqueued() { _ = Unmanaged.passRetained(self) }

  /// The operations were refused.
  func wasRefused() { Unmanaged.passUnretained(self).release() }

  // MARK: What the lanes call

  static let work: RawWork = { context, token in
    let entry = context.unsafelyUnwrapped.assumingMemoryBound(to: BatchEntry.self)
    if entry.pointee.token.load(ordering: .relaxed) == 0 {
      entry.pointee.token.store(token, ordering: .sequentiallyConsistent)
    }
    let batch = entry.pointee.batch.takeUnretainedValue()
    let (slot, hasFailed) = (entry.pointee.slot, batch.hasFailed.load(ordering: .relaxed))
    if hasFailed || (slot == nil && batch.isStoppedNow) {
      if let slot { _ = slot.lane.cancel(slot, generation: nil) }
      _ = Engine.end(Handle(bits: token), as: .cancelled)
    } else {
      entry.pointee.item.work(entry.pointee.item.context, token)
    }
  }

  /// An operation ends otherwise than finished, and still has its place. Its lane is locked.
  static func noteFailureLocked(_ slot: OperationSlot.Pointer) {
    guard let entry = entry(slot.pointee.destroy, slot.pointee.context) else { return }
    let batch = entry.pointee.batch.takeUnretainedValue()
    if batch.stopsAtFailure { batch.hasFailed.store(true, ordering: .relaxed) }
  }

  /// Records the token of an operation that is about to start, under its lane's lock: a canceller
  /// takes that lock after it stops the batch and before it looks for tokens.
  @inline(__always)
  static func willStart(_ job: Job, _ token: Handle) {
    entry(job.destroy, job.context)?.pointee.token.store(token.bits, ordering: .relaxed)
  }

  private var isStoppedNow: Bool { isStopped.load(ordering: .sequentiallyConsistent) }

  /// A job that was taken out stays in a buffer as a tombstone. The batch retains itself until the
  /// last tombstone is gone.
  static func addTombstoneLocked(_ job: Job) {
    let batch = of(job)
    if batch.tombstones == 0 { _ = Unmanaged.passRetained(batch) }
    batch.tombstones += 1
  }

  /// A tombstone goes. Returns what has to be destroyed once the lane's lock is released.
  static func dropTombstoneLocked(_ job: Job) -> Job {
    let batch = of(job)
    batch.tombstones -= 1
    if batch.tombstones > 0 { return Job(context: nil, destroy: nil) }
    return Job(context: Unmanaged.passUnretained(batch).toOpaque(), destroy: letGo)
  }

  /// The same for a caller that cannot destroy anything: the graveyard takes it.
  static func buryTombstoneLocked(_ job: Job, in graveyard: inout JobBuffer) {
    let rest = dropTombstoneLocked(job)
    if rest.destroy != nil { _ = graveyard.append(rest, isOwed: true) }
  }

  private static let letGo: RawDestroy = { batch in
    Unmanaged<Batch>.fromOpaque(batch.unsafelyUnwrapped).release()
  }

  private static func of(_ job: Job) -> Batch {
    job.context.unsafelyUnwrapped.assumingMemoryBound(to: BatchEntry.self).pointee.batch
      .takeUnretainedValue()
  }

  static let condition: RawCondition = { context in
    let entry = context.unsafelyUnwrapped.assumingMemoryBound(to: BatchEntry.self)
    return entry.pointee.batch.takeUnretainedValue().condition!(entry.pointee.item.context)
  }

  static let decide: RetryPolicy.RawDecide = { context, code, attempts in
    let entry = context.unsafelyUnwrapped.assumingMemoryBound(to: BatchEntry.self)
    let batch = entry.pointee.batch.takeUnretainedValue()
    return batch.decide!(entry.pointee.item.context, code, attempts)
  }

  static let destroy: RawDestroy = { context in
    let entry = context.unsafelyUnwrapped.assumingMemoryBound(to: BatchEntry.self)
    let process = ProcessState.current
    if let destroy = entry.pointee.item.destroy {
      entry.pointee.batch._withUnsafeGuaranteedRef {
        $0.noteEntered { destroy(entry.pointee.item.context) }
      }
    }
    if ProcessState.current != process { return }
    entry.pointee.batch.takeUnretainedValue().takeDown(entry)
  }

  /// For a batch without operations: the destroy function of its placeholder.
  static let destroyEmpty: RawDestroy = { context in
    Unmanaged<Batch>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue().complete()
  }

  private func takeDown(_ entry: UnsafeMutablePointer<BatchEntry>) {
    let slot = entry.pointee.slot
    let end = slot.map(makeEnd) ?? makeEndOfBareJob(entry)
    lock.lock()
    entry.pointee.slot = nil
    entry.note(end)
    let stops = decision.add(end.end.outcome, of: entry - entries)
    let isOver = decision.isOver
    // If not, dependents are cancelled with the rest.
    let goesOn = !isOver && !decision.isStopped && !decision.isCancelled
    let staged = stageLocked()
    lock.unlockAfterReadingObject()
    slot?.dropReference()
    let process = ProcessState.current
    staged.deliver()
    if ProcessState.current != process { return }
    if goesOn, let graph {
      let isFinished = end.end.outcome == .finished
      // Nobody is told once the queue is gone.
      _ = Engine.withLane(queue) {
        $0.tellLater(
          graph, entry - entries, isFinished: isFinished, generation: queue.generation)
      }
    }
    if stops { cancelRest() }
    if isOver && ProcessState.current == process { complete() }
  }

  /// Records the end of a bare job whose slot has this word, before its lane has settled it.
  /// Returns false, with nothing done, when the job has not simply finished, or more follows from
  /// its end.
  @inline(__always)
  static func takeDownAtOnce(_ slot: OperationSlot.Pointer, _ word: OperationWord) -> Bool {
    guard let entry = justFinished(slot, word) else { return false }
    return entry.pointee.batch._withUnsafeGuaranteedRef {
      $0.graph == nil && $0.addFinished(entry)
    }
  }

  /// The same for a job that may have dependents, which are told. Its lane is locked and stays so:
  /// the batch cannot be complete before they have been told.
  @inline(__always)
  static func takeDownLocked(
    _ slot: OperationSlot.Pointer, _ word: OperationWord, in lane: Lane.Pointer
  ) -> Bool {
    guard let entry = justFinished(slot, word) else { return false }
    return entry.pointee.batch._withUnsafeGuaranteedRef { batch in
      guard let graph = batch.graph else { return false }
      let place = entry - batch.entries
      let count = graph.pointee.laterCount(of: place)
      if count > Lane.Pointer.portionOfGraph { return false }
      return batch.addFinished(entry) {
        if count > 0 { lane.tellLaterLocked(graph, place, 0..<count) }
      }
    }
  }

  @inline(__always)
  private static func justFinished(
    _ slot: OperationSlot.Pointer, _ word: OperationWord
  ) -> UnsafeMutablePointer<BatchEntry>? {
    guard let entry = entry(slot.pointee.destroy, slot.pointee.context), word.isSimplyFinished,
      slot.pointee.result == nil, slot.pointee.resultDestroy == nil, slot.pointee.code == 0
    else { return nil }
    return entry.pointee.item.destroy == nil ? entry : nil
  }

  /// Calls `body` before it releases the lock; afterwards the batch may be complete and gone.
  @inline(__always)
  private func addFinished(
    _ entry: UnsafeMutablePointer<BatchEntry>, _ body: () -> Void = {}
  ) -> Bool {
    lock.lock()
    let isAdded = states.isEmpty && decision.addFinished()
    if isAdded {
      entry.pointee.end = finished
      body()
    }
    lock.unlock()
    return isAdded
  }

  @inline(__always)
  static func isDestroy(_ function: RawDestroy) -> Bool {
    unsafeBitCast(function, to: UInt.self) == unsafeBitCast(destroy, to: UInt.self)
  }

  /// What a job's or a slot's functions say of a batch.
  @inline(__always)
  static func entry(
    _ destroy: RawDestroy?, _ context: UnsafeMutableRawPointer?
  ) -> UnsafeMutablePointer<BatchEntry>? {
    guard let destroy, isDestroy(destroy) else { return nil }
    return context.unsafelyUnwrapped.assumingMemoryBound(to: BatchEntry.self)
  }

  private func makeEnd(_ slot: OperationSlot.Pointer) -> BatchEntry.End {
    var end = BatchEntry.End(end: slot.makeEnd(), resultDestroy: slot.pointee.resultDestroy)
    end.end.label = label.map { UnsafePointer($0) }
    // From here on, the result belongs to the batch.
    slot.pointee.resultDestroy = nil
    return end
  }

  private func makeEndOfBareJob(_ entry: UnsafeMutablePointer<BatchEntry>) -> BatchEntry.End {
    let token = Handle(bits: entry.pointee.token.load(ordering: .relaxed))
    guard token.bits != 0 && token.bits != BatchEntry.takenOut else {
      // The lane took it out before its start.
      let isAlive = Engine.lane(queue)?.isOf(queue) == true
      let cause: Cause = isAlive ? .request : .destroyed
      return BatchEntry.End(end: OperationEnd(outcome: .cancelled, cause: cause))
    }
    // The slot still belongs to the operation while its context is destroyed.
    let slot = Engine.current.pointee.operations.pointer(at: token.index).unsafelyUnwrapped
    let word = slot.loadWord()
    var end = makeEnd(slot)
    // The slot may still contain data of an earlier operation.
    if !word.contains(.cutOff) {
      let isRequested =
        end.end.outcome == .cancelled
        && (word.contains(.cancelRequested) || isStoppedNow || hasFailed.load(ordering: .relaxed))
      end.end.cause = isRequested ? .request : .none
    }
    (end.end.enqueuedAt, end.end.startedAt, end.end.endedAt) = (0, 0, 0)
    return end
  }

  private func complete() {
    Engine.withUse(of: self) { $0.completer = inturn_system_thread() }
    let process = ProcessState.current
    onEnd?(self)
    if ProcessState.isForked(since: process) { return }
    lock.withLock { isComplete = true }
    wakeups.advance()
    Engine.withUse(of: self) {
      $0.completer = 0
      $0.isComplete = true
    }
    Unmanaged.passUnretained(self).release()
  }

  /// For who adds the ends; see `Engine.addBatch`.
  package func withDecision<Result>(_ body: (inout BatchDecision) -> Result) -> Result {
    lock.withLock { body(&decision) }
  }

  // MARK: What can be asked of a batch

  /// Cancels the operations that have not ended.
  package func cancel() -> Status {
    lock.lock()
    let status: Status =
      decision.isOver ? .alreadyFinished : decision.isCancelled ? .cancelled : .ok
    if status == .ok { decision.isCancelled = true }
    lock.unlock()
    if status == .ok { cancelRest() }
    return status
  }

  private func cancelRest() {
    if !isStopped.exchange(true, ordering: .sequentiallyConsistent) && isBare {
      _ = Engine.withLane(queue) {
        $0.removeJobs(of: self, generation: queue.generation)
        return .ok
      }
    }
    var next = 0
    // The running operations, with the token's generation for those without slots of their own.
    var slots: [(slot: OperationSlot.Pointer, generation: UInt32?)] = []
    // A portion at a time, so that the lock is only held for a moment.
    let portion = 64
    while next < count {
      lock.lock()
      let last = min(next + portion, count)
      for index in next..<last {
        let entry = entries + index
        if entry.pointee.end != nil { continue }
        if let slot = entry.pointee.slot {
          slot.addReference()
          slots.append((slot, nil))
        } else if let running = entry.running {
          slots.append(running)
        }
      }
      lock.unlock()
      next = last
      for (slot, generation) in slots {
        _ = slot.lane.cancel(slot, generation: generation)
        slot.dropReference()
      }
      slots.removeAll(keepingCapacity: true)
    }
  }

  package struct Summary {
    package var outcome: Outcome
    package var code: Int32
    package var finished: Int
    /// Nil when no single operation's end is the batch's.
    package var decidedBy: Int?
  }

  /// How the batch has ended; nil while it has not.
  package var summary: Summary? {
    lock.lock()
    defer { lock.unlock() }
    guard decision.isOver else { return nil }
    let index = decision.decidedBy
    return Summary(
      outcome: decision.outcome, code: index.map { entries[$0].end!.pointee.end.code } ?? 0,
      finished: decision.finished, decidedBy: index)
  }

  /// Makes a trail follow the progress from now on.
  func follow(_ trail: StateTrail) {
    lock.lock()
    trail.assume(.progress(progressLocked))
    states.add(trail)
    let staged = decision.isOver ? stageLocked() : []
    lock.unlockAfterReadingObject()
    staged.deliver()
  }

  /// The slot of an operation that is being enqueued.
  func newSlot(at place: Int) -> OperationSlot.Pointer { entries[place].slot.unsafelyUnwrapped }

  /// The slot of an operation that has not ended, with a reference.
  func slot(at place: Int) -> OperationSlot.Pointer? {
    lock.lock()
    defer { lock.unlock() }
    guard let slot = entries[place].slot else { return nil }
    slot.addReference()
    return slot
  }

  /// An operation that has not ended and that this one, which has a slot, depends on, with a
  /// reference; as far as a short search finds one. Their lane is locked.
  func earlierLocked(of entry: UnsafeMutablePointer<BatchEntry>) -> OperationSlot.Pointer? {
    var earlier: OperationSlot.Pointer?
    graph?.pointee.forEachEarlier(of: entry - entries, looks: 10_000) {
      earlier = slot(at: $0)
      return earlier == nil
    }
    return earlier
  }

  private var progressLocked: Progress {
    Progress(completed: Int64(decision.ended), total: Int64(count))
  }

  private func stageLocked() -> [StagedState] {
    if states.isEmpty { return [] }
    let progress = RawValue.progress(progressLocked)
    return decision.isOver ? states.stageLast(.batch(progress)) : states.stage(.batch(progress))
  }

  var labelForReports: UnsafePointer<CChar>? { label.map { UnsafePointer($0) } }

  /// How many operations have ended.
  package var ended: Int { lock.withLock { decision.ended } }

  /// How an operation has ended; nil while it has not.
  package func end(of index: Int) -> OperationEnd? {
    lock.withLock { entries[index].end?.pointee.end }
  }

  var isCompleteNow: Bool { lock.withLock { isComplete } }
}
