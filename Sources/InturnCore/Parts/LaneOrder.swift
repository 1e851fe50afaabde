/// A lane's operations that are not simply taken in order: those with priorities, those that wait
/// for something, barriers, and those that are started again. The lane's lock protects it.
///
/// A pending operation is in exactly one place:
///
///     front      comes next, after urgent ones: it has had its turn and has to repeat it
///     levels     may start; in order within each priority
///     blocked    waits for others to end (such as one that it has joined), for names, or for its
///                next attempt
///     fence      the first barrier: starts when nothing before it is left
///     behind     came after the fence, and may not start before it
struct LaneOrder: ~Copyable {
  /// A priority, as the key of its level.
  struct PriorityKey: HashKey {
    let priority: Int64
    /// Priorities at equal distances spread over the buckets (Fibonacci hashing: D. Knuth, The Art of
    /// Computer Programming, volume 3, section 6.4).
    var hash: Int {
      Int(truncatingIfNeeded: UInt64(bitPattern: priority) &* 0x9E37_79B9_7F4A_7C15 >> 32)
    }
  }

  /// Operations of one priority.
  struct Level: HashNode {
    typealias Pointer = UnsafeMutablePointer<Level>

    let priority: Int64
    var key: PriorityKey { PriorityKey(priority: priority) }
    var nextInBucket: Pointer?
    var jobs = JobBuffer()
    /// Its position in the heap; -1 while nothing is pending in it.
    var position = -1
    /// Links in the list of turns.
    var previous: Pointer?
    var next: Pointer?
  }

  /// Goes before all levels but the urgent one, in order.
  var front = JobBuffer()
  var behind = JobBuffer()
  var fence: OperationSlot.Pointer?
  /// Whether the fence has been started.
  var isFenceRunning = false
  /// The first and last blocked slots, in the order in which they were blocked; zero for none.
  /// Linked by `link`.
  var firstBlocked: UInt32 = 0
  var lastBlocked: UInt32 = 0
  var blocked: UInt32 = 0

  /// The levels with pending operations.
  fileprivate var heap = LevelHeap()
  /// The level of priority zero, which always exists.
  private let plain = Level.Pointer.allocate(capacity: 1)
  /// The other levels. Some empty ones are kept for reuse.
  private var byPriority = HashTable<Level>()
  private var keptLevels: Int { 64 }
  /// The levels in the order of their last starts, the longest ago first.
  private var firstTurn: Level.Pointer?
  private var lastTurn: Level.Pointer?
  /// How many levels of the heap the squeezing round has visited.
  fileprivate var squeezed = 0
  /// How many starts in a row have passed by a lower priority.
  private var passedBy: UInt32 = 0

  /// After this many starts that passed by lower priorities, one of those starts.
  static var patience: UInt32 { 64 }

  init() { plain.initialize(to: Level(priority: 0)) }

  /// When its lane is gone; nothing is pending.
  deinit {
    func drop(_ level: Level.Pointer) {
      level.pointee.jobs.release()
      level.deallocate()
    }
    drop(plain)
    byPriority.forEach(drop)
  }
}

extension UnsafeMutablePointer<LaneOrder> {
  /// Takes over the buffer of a lane that had no order.
  func adopt(_ jobs: JobBuffer) {
    if jobs.isEmpty {
      var jobs = jobs
      jobs.release()
    } else {
      pointee.plainLevel().pointee.jobs = jobs
    }
  }

  /// `isFree`: nothing runs, and no batch holds an operation.
  func hasStartable(isFree: Bool) -> Bool {
    if !pointee.heap.isEmpty || !pointee.front.isEmpty { return true }
    return isFree && isFenceReady
  }

  /// Puts a job behind the fence. False when memory runs out.
  func putBehind(_ job: Job, isOwed: Bool = false) -> Bool {
    job.slot?.pointee.flags.insert(.isBehind)
    return pointee.behind.append(job, isOwed: isOwed)
  }

  private var isFenceReady: Bool {
    guard let fence = pointee.fence, pointee.blocked == 0 else { return false }
    return !pointee.isFenceRunning && fence.blockers == 0
  }

  // MARK: In

  /// Puts a job where it can be started. False when memory runs out.
  func push(_ job: Job, priority: Int64, isOwed: Bool = false) -> Bool {
    guard let level = pointee.level(priority, isOwed: isOwed) else { return false }
    if level.pointee.jobs.append(job, isOwed: isOwed) { return true }
    if level.pointee.jobs.isEmpty { pointee.removeLevel(level) }
    return false
  }

  /// Puts an operation, which nothing blocks, where it can be started. False when memory runs out.
  func push(_ slot: OperationSlot.Pointer, isOwed: Bool = false) -> Bool {
    if let plan = slot.plan, plan.pointee.comesNext && !plan.pointee.isUrgent {
      return pointee.front.append(Job(slot: slot), isOwed: isOwed)
    }
    return push(Job(slot: slot), priority: slot.level, isOwed: isOwed)
  }

  /// Puts an owed operation before all that are not urgent; if it is urgent itself, before those as
  /// well.
  func pushFirst(_ slot: OperationSlot.Pointer) {
    if slot.plan?.pointee.isUrgent == true {
      let level = pointee.level(OperationPlan.nextUrgentLevel, isOwed: true)!
      level.pointee.jobs.prepend(Job(slot: slot))
    } else {
      pointee.front.prepend(Job(slot: slot))
    }
  }

  /// Appends jobs of priority zero.
  func append(_ jobs: inout JobBuffer) {
    if pointee.fence != nil {
      _ = jobs.forEach {
        $0.slot?.pointee.flags.insert(.isBehind)
        return true
      }
      pointee.behind.append(&jobs)
    } else if !jobs.isEmpty {
      pointee.plainLevel().pointee.jobs.append(&jobs)
    }
  }

  /// Puts an operation, which no fence holds back, where it belongs. False when memory runs out.
  func admit(_ slot: OperationSlot.Pointer, isOwed: Bool = false) -> Bool {
    // An operation that was cancelled behind a fence only waits to be dropped.
    if slot.loadWord().contains(.claimed) {
      return push(Job(slot: slot), priority: slot.level, isOwed: isOwed)
    }
    if slot.plan?.pointee.isBarrier == true {
      pointee.fence = slot
      slot.pointee.flags.insert(.isFence)
      return true
    }
    if slot.blockers > 0 {
      block(slot)
      return true
    }
    return push(slot, isOwed: isOwed)
  }

  func block(_ slot: OperationSlot.Pointer) {
    slot.pointee.flags.insert(.isBlocked)
    slot.link(after: pointee.lastBlocked, before: 0)
    if pointee.lastBlocked == 0 { pointee.firstBlocked = slot.index }
    pointee.lastBlocked = slot.index
    pointee.blocked += 1
  }

  func unblock(_ slot: OperationSlot.Pointer) {
    slot.pointee.flags.remove(.isBlocked)
    let (previous, next) = slot.unlink()
    if previous == 0 { pointee.firstBlocked = next }
    if next == 0 { pointee.lastBlocked = previous }
    pointee.blocked -= 1
  }

  var firstBlocked: OperationSlot.Pointer? { OperationSlot.Pointer(at: pointee.firstBlocked) }

  func forEachBlocked(_ body: (OperationSlot.Pointer) -> Bool) -> Bool {
    OperationSlot.Pointer.forEach(from: pointee.firstBlocked, body)
  }

  // MARK: Out

  /// Takes out the first urgent operation if it was cancelled.
  func popDeadUrgent() -> OperationSlot.Pointer? {
    guard pointee.hasUrgent, let slot = pointee.heap[0].pointee.jobs.first()?.slot,
      slot.loadWord().contains(.claimed)
    else { return nil }
    _ = pop(ages: false)
    return slot
  }

  /// The first urgent job or, if there is none, the first of the front.
  func firstBeforeLevels() -> Job? {
    pointee.hasUrgent ? pointee.heap[0].pointee.jobs.first() : pointee.front.first()
  }

  /// Takes out the job to start next, or nil. `ages`: no priority waits for ever.
  func pop(ages: Bool) -> Job? {
    if !pointee.hasUrgent, let job = pointee.front.pop() { return job }
    if let level = pointee.chooseLevel(ages: ages) {
      let job = level.pointee.jobs.pop()
      if level.pointee.jobs.isEmpty { pointee.removeLevel(level) }
      return job
    }
    guard let fence = pointee.fence, !pointee.isFenceRunning else { return nil }
    pointee.isFenceRunning = true
    return Job(slot: fence)
  }

  /// Removes a pending operation that is not in a buffer. False when it is in one.
  func remove(_ slot: OperationSlot.Pointer) -> Bool {
    if slot.pointee.flags.contains(.isBlocked) {
      unblock(slot)
      return true
    }
    if slot.pointee.flags.contains(.isFence) {
      liftFence(slot)
      return true
    }
    return false
  }

  /// The fence has run or was cancelled: operations behind it may start, up to the next barrier.
  func liftFence(_ slot: OperationSlot.Pointer) {
    pointee.fence = nil
    pointee.isFenceRunning = false
    while pointee.fence == nil, let job = pointee.behind.pop() {
      job.slot?.pointee.flags.remove(.isBehind)
      _ = job.slot.map { admit($0, isOwed: true) } ?? push(job, priority: 0, isOwed: true)
    }
    pointee.behind.release()
  }

  /// Takes out everything that is in a buffer.
  func takeAll() -> Chunk.Pointer? {
    var all = JobBuffer()
    func take(_ jobs: inout JobBuffer) { if jobs.front() != nil { all.append(&jobs) } }
    take(&pointee.front)
    while let level = pointee.heap.first {
      take(&level.pointee.jobs)
      pointee.removeLevel(level)
    }
    take(&pointee.behind)
    return all.head
  }

  /// Squeezes the buffers, one after the other; see `JobBuffer.squeeze`.
  func squeeze(_ round: UInt32, _ budget: inout Int, where isDead: (Job) -> Bool) -> Bool {
    guard pointee.front.squeeze(round, isRead: false, &budget, where: isDead),
      pointee.behind.squeeze(round, isRead: false, &budget, where: isDead)
    else { return false }
    while pointee.squeezed < pointee.heap.count {
      let level = pointee.heap[pointee.squeezed]
      budget -= 1
      if !level.pointee.jobs.squeeze(round, isRead: false, &budget, where: isDead) { return false }
      // After a removal, its place in the heap belongs to another level.
      if level.pointee.jobs.front() == nil {
        pointee.removeLevel(level)
      } else {
        pointee.squeezed += 1
      }
      if budget <= 0 { return false }
    }
    pointee.squeezed = 0
    return true
  }

  /// The level of the highest priority that does not exceed this one.
  func level(atMost priority: Int64) -> LaneOrder.Level.Pointer? {
    var found: LaneOrder.Level.Pointer?
    for place in 0..<pointee.heap.count {
      let level = pointee.heap[place]
      if level.pointee.priority <= priority,
        found.map({ $0.pointee.priority < level.pointee.priority }) ?? true
      {
        found = level
      }
    }
    return found
  }

  /// How many levels have pending operations.
  var levelCount: Int { pointee.heap.count }

  /// Calls `body` with each pending job, roughly in the order of the starts, until it returns
  /// false. False when it has.
  func forEach(_ body: (Job) -> Bool) -> Bool {
    guard pointee.front.forEach(body) else { return false }
    var levels = pointee.heap.all.map {
      // The highest priority first.
      Keyed(UInt(bitPattern: $0), by: UInt64(bitPattern: ~$0.pointee.priority) ^ 1 << 63)
    }
    Keyed.sort(&levels)
    for level in levels {
      let level = LaneOrder.Level.Pointer(bitPattern: level.word).unsafelyUnwrapped
      guard level.pointee.jobs.forEach(body) else { return false }
    }
    guard forEachBlocked({ body(Job(slot: $0)) }) else { return false }
    if let fence = pointee.fence, !pointee.isFenceRunning, !body(Job(slot: fence)) { return false }
    return pointee.behind.forEach(body)
  }
}

// MARK: The levels

extension LaneOrder {
  /// Whether nothing can start, and nothing holds back new operations.
  @inline(__always)
  var isEmpty: Bool { heap.isEmpty && front.isEmpty && fence == nil }

  var hasUrgent: Bool {
    guard let first = heap.first else { return false }
    return first.pointee.priority >= OperationPlan.urgentLevel
  }

  /// The level of a priority, to which something is about to be added. Nil when memory runs out,
  /// except for something owed.
  @inline(__always)
  fileprivate mutating func level(_ priority: Int64, isOwed: Bool) -> Level.Pointer? {
    if priority == 0 { return plainLevel() }
    guard let level = specialLevel(priority, isOwed: isOwed) else { return nil }
    use(level)
    return level
  }

  @inline(__always)
  fileprivate mutating func plainLevel() -> Level.Pointer {
    use(plain)
    return plain
  }

  @inline(__always)
  private mutating func use(_ level: Level.Pointer) {
    if level.pointee.position < 0 {
      heap.insert(level)
      appendTurn(level)
    }
  }

  /// The memory that a priority's level keeps, for tests.
  func chunk(of priority: Int64) -> Chunk.Pointer? {
    (priority == 0 ? plain : byPriority.find(PriorityKey(priority: priority)))?.pointee.jobs.head
  }

  @inline(never)
  private mutating func specialLevel(_ priority: Int64, isOwed: Bool) -> Level.Pointer? {
    if let level = byPriority.find(PriorityKey(priority: priority)) { return level }
    // One more for the new level, and one for the plain one.
    if !heap.reserve(byPriority.count + 2, isOwed: isOwed) { return nil }
    let level = Level.Pointer.allocate(capacity: 1)
    level.initialize(to: Level(priority: priority))
    byPriority.insert(level)
    return level
  }

  @inline(__always)
  fileprivate mutating func removeLevel(_ level: Level.Pointer) {
    heap.remove(level)
    removeTurn(level)
    level.pointee.jobs.releaseLarge()
    if level != plain && byPriority.count > keptLevels { drop(level) }
  }

  @inline(never)
  private mutating func drop(_ level: Level.Pointer) {
    byPriority.remove(level)
    level.pointee.jobs.release()
    level.deallocate()
  }

  /// The highest level, or, after it has passed by lower ones too often, the one whose last turn
  /// was the longest ago.
  fileprivate mutating func chooseLevel(ages: Bool) -> Level.Pointer? {
    guard let highest = heap.first else { return nil }
    if heap.count == 1 || !ages {
      passedBy = 0
      return highest
    }
    let isDue = passedBy >= Self.patience
    let chosen = isDue ? firstTurn! : highest
    // Dropping a cancelled operation is neither a turn nor a start.
    if chosen.pointee.jobs.first()?.slot?.loadWord().contains(.claimed) == true { return chosen }
    passedBy = isDue ? 0 : passedBy + 1
    removeTurn(chosen)
    appendTurn(chosen)
    return chosen
  }

  private mutating func appendTurn(_ level: Level.Pointer) {
    level.pointee.previous = lastTurn
    level.pointee.next = nil
    if let lastTurn { lastTurn.pointee.next = level } else { firstTurn = level }
    lastTurn = level
  }

  private mutating func removeTurn(_ level: Level.Pointer) {
    let (previous, next) = (level.pointee.previous, level.pointee.next)
    if let previous { previous.pointee.next = next } else { firstTurn = next }
    if let next { next.pointee.previous = previous } else { lastTurn = previous }
  }
}
