import CInturnSystem
import Synchronization

/// Who waits for whom: the waits of threads inside the library's callbacks, and those of tasks inside
/// operations, in one registry, so that a ring may be of both.
///
/// A wait is refused if nobody could ever make progress: if what it waits for needs places that are all
/// held, directly or through others, by those who wait for it in turn. A thread that is inside no
/// callback, and is not the only one that may drain an executor, holds nothing and is part of no ring:
/// its waits are entered for snapshots, and not looked at. A *task* is whatever waits without a thread (a coroutine, a task of
/// Swift's), and says so itself: which operations it is inside of, and what it needs.
///
/// Each wait gets a number and is entered in one short step; then it looks for a ring among the waits
/// that came before it, without that lock. So the ring is found by its last wait, which has all others
/// before it, and by no other: exactly one wait is refused. What the search reads may change meanwhile,
/// but a waiting thread changes nothing. So a ring that was found is real if all of its waits are still
/// there at the end, and none of the others is about to be refused itself; else the search is repeated,
/// each time with fewer earlier waits. (What others do at that moment, such as a cancel, may come too
/// late to be seen.)
///
/// The cost of a search depends on how much keeps the operation back: about half a microsecond for each
/// operation before it in a chain, up to 100,000 of them, on the caller's thread; of a task's wait, up
/// to 1,000. All waits of threads are looked at, and of tasks those that hold something relevant; a
/// task's wait looks at no other one if nobody may need what it holds. No lock is held for longer than a
/// look at one operation, or at about a millisecond's worth of pending ones.
package enum WaitGraph {
  enum Target {
    /// Everything in a queue.
    case queue(Lane.Pointer)
    /// A queue's calls that are under way.
    case calls(of: Lane.Pointer)
    /// One operation; the waiter holds a reference to it.
    case operation(OperationSlot.Pointer)
    /// Calls of a value's observers.
    case observers(of: TrailBase, TrailWait)
    /// What a task's wait is for.
    case needs(of: TaskWait)
  }

  /// A wait, for as long as it lasts.
  package struct Entry {
    fileprivate(set) var wait: Wait?
    /// The line of one that spins first, if it holds nothing: it is entered when it sleeps.
    fileprivate var later: Site?
    package static var none: Entry { Entry(wait: nil) }

    init(wait: Wait?) { self.wait = wait }

    fileprivate init(later site: Site) { later = site }

    /// A thread that has spun is about to sleep.
    @inline(never)
    mutating func sleeps(_ target: Target) {
      guard let site = later else { return }
      later = nil
      let wait = Wait([], target, at: site, holdsSomething: false)
      Engine.current.pointee.waits.add(wait)
      self.wait = wait
    }
  }

  /// Why a task's wait is refused; it has been reported.
  package struct Deadlock: Error {
    package let message: Text
  }

  /// A wait as others see it.
  final class Wait: @unchecked Sendable {
    // Safe to share: the storage's lock protects what changes.

    /// Given when it is entered; not 0.
    @exclusivity(unchecked) fileprivate(set) var number: UInt64 = 0
    /// Copies of the waiting thread's frames, innermost first; none of a task's.
    let frames: [CallFrame]
    /// Null for a task's.
    let thread: UInt
    let isOnMainThread: Bool
    /// If not, it is part of no ring, and only told.
    let holdsSomething: Bool
    /// The line that waits.
    let site: Site
    let target: Target
    /// In which it is entered.
    unowned(unsafe) fileprivate let storage = Engine.current.pointee.waits
    /// It will not be refused any more.
    @exclusivity(unchecked) fileprivate(set) var isDecided = false
    @exclusivity(unchecked) fileprivate var isThere = true
    /// A task's: the lanes of the operations that it is inside of.
    @exclusivity(unchecked) fileprivate var places: [TaskPlace] = []
    /// A task's: the lanes that it needs something of; nil while they are unknown, or may change.
    @exclusivity(unchecked) fileprivate var needs: [TaskPlace]?
    /// Of what is in the queue that it is for, only this.
    let batch: Batch?
    /// When the watchdog, which alone uses this, has first seen it; 0 before that.
    @exclusivity(unchecked) var seenAt: Int64 = 0

    fileprivate init(
      _ frames: [CallFrame], _ target: Target, of batch: Batch? = nil, at site: Site,
      holdsSomething: Bool
    ) {
      self.frames = frames
      self.target = target
      self.batch = batch
      self.holdsSomething = holdsSomething
      thread = inturn_system_thread()
      isOnMainThread = inturn_system_is_main_thread()
      self.site = site
    }

    fileprivate init(of task: TaskWait, in lanes: [UInt]) {
      frames = []
      target = .needs(of: task)
      batch = nil
      thread = 0
      isOnMainThread = false
      holdsSomething = true
      site = task.site
      places = lanes.map { TaskPlace($0, self) }
    }

    /// The value for whose observers a thread waits that is in no operation.
    var awaitedValue: (value: TrailBase, what: TrailWait)? {
      guard case .observers(of: let value, let what) = target, !what.isForChange,
        !frames.contains(where: { $0.lane != nil })
      else { return nil }
      return (value, what)
    }

    /// Nil for a thread's.
    var task: TaskWait? { if case .needs(let task) = target { task } else { nil } }
  }

  /// A task's wait as one of those that are inside a lane, or need it. The storage's lock protects its
  /// links.
  fileprivate final class TaskPlace {
    let lane: UInt
    unowned(unsafe) let wait: Wait
    @exclusivity(unchecked) var next: TaskPlace?
    @exclusivity(unchecked) unowned(unsafe) var previous: TaskPlace?

    init(_ lane: UInt, _ wait: Wait) {
      self.lane = lane
      self.wait = wait
    }
  }

  /// The engine's waits.
  final class Storage: @unchecked Sendable {
    // Safe to share: `lock` protects the rest.

    /// Held for a few steps for each wait. What a task's wait is asked may take the locks of its
    /// operations, which are never held by who takes this one.
    fileprivate let lock = BriefLock()
    /// How many executors are attached to loops, each to its thread. Relaxed: a thread with such an
    /// executor has written the number itself.
    let attachments = Atomic<Int>(0)
    /// Those of threads, ordered by number.
    @exclusivity(unchecked) fileprivate var waits: [Wait] = []
    /// Those of tasks, by the lanes that they are inside of, and by those that they need; some lanes
    /// share a line. Empty until there is one.
    @exclusivity(unchecked) fileprivate var tasks: [TaskPlace?] = []
    @exclusivity(unchecked) fileprivate var needs: [TaskPlace?] = []
    /// How many tasks' waits need lanes that are unknown, or may change.
    @exclusivity(unchecked) private var unknown = 0
    @exclusivity(unchecked) fileprivate var lastNumber: UInt64 = 0

    /// By the highest byte of a product in which each bit has a part.
    fileprivate func line(of lane: UInt) -> Int {
      Int((UInt64(lane) &* 0x9E37_79B9_7F4A_7C15) >> 56)
    }

    @inline(never)
    fileprivate func add(_ wait: Wait) {
      lock.lock()
      defer { lock.unlock() }
      lastNumber += 1
      wait.number = lastNumber
      if wait.task == nil {
        waits.append(wait)
        return
      }
      if tasks.isEmpty {
        tasks = Array(repeating: nil, count: WaitGraph.lineCount)
        needs = tasks
      }
      unknown += 1
      for place in wait.places { link(place, in: &tasks) }
    }

    /// Notes the lanes that a task's wait needs; nil if they may change. Whether anybody who came before
    /// may need what it holds: if not, it is part of no ring.
    fileprivate func isNeededLocked(_ wait: Wait, needing places: [TaskPlace]?) -> Bool {
      guard let places else { return true }
      wait.needs = places
      for place in places { link(place, in: &needs) }
      unknown -= 1
      if unknown > 0 || !waits.isEmpty { return true }
      for place in wait.places {
        var next = needs[line(of: place.lane)]
        while let other = next, other.lane != place.lane { next = other.next }
        if next != nil { return true }
      }
      return false
    }

    /// Nothing is freed, since the wait has its places.
    fileprivate func removeLocked(_ wait: Wait) {
      wait.isThere = false
      if wait.task == nil {
        waits.remove(at: placeOfFirst(from: wait.number))
        return
      }
      for place in wait.places { unlink(place, from: &tasks) }
      if let places = wait.needs {
        for place in places { unlink(place, from: &needs) }
      } else {
        unknown -= 1
      }
    }

    @inline(never)
    private func link(_ place: TaskPlace, in lines: inout [TaskPlace?]) {
      let line = line(of: place.lane)
      place.next = lines[line]
      place.next?.previous = place
      lines[line] = place
    }

    @inline(never)
    private func unlink(_ place: TaskPlace, from lines: inout [TaskPlace?]) {
      place.next?.previous = place.previous
      if let previous = place.previous {
        previous.next = place.next
      } else {
        lines[line(of: place.lane)] = place.next
      }
      place.next = nil
    }

    /// The place of the first wait with this number or a later one.
    fileprivate func placeOfFirst(from number: UInt64) -> Int {
      var (low, high) = (0, waits.count)
      while low < high {
        let middle = (low + high) / 2
        if waits[middle].number < number { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  /// Enters a wait; see `Entry.sleeps` for one that `spins` first. Nil, after a report that names the
  /// ring, if it could never end.
  @inline(never)
  static func enter(_ target: Target, of batch: Batch? = nil, spins: Bool = false) -> Entry? {
    let storage = Engine.current.pointee.waits
    let frames = CallFrame.all
    let holdsSomething = !frames.isEmpty || mayDrainAlone
    if !holdsSomething && spins { return Entry(later: .ofWait) }
    let wait = Wait(frames, target, of: batch, at: .ofWait, holdsSomething: holdsSomething)
    storage.add(wait)
    if !holdsSomething { return Entry(wait: wait) }
    guard let report = refusal(of: wait) else { return Entry(wait: wait) }
    report.send()
    return nil
  }

  /// Enters a task's wait; throws, after a report, if it could never end. A task outside of operations
  /// holds nothing.
  package static func enter(_ task: TaskWait) throws(Deadlock) -> Entry {
    let storage = Engine.current.pointee.waits
    var lanes: [UInt] = []
    for holder in task.holders() where !lanes.contains(holder.lane) { lanes.append(holder.lane) }
    if lanes.isEmpty { return .none }
    let wait = Wait(of: task, in: lanes)
    storage.add(wait)
    let needed = NeededLanes(of: wait, reach: WaitSearch.reachOfTasks).all
    let places = needed?.map { TaskPlace($0, wait) }
    storage.lock.lock()
    let isNeeded = storage.isNeededLocked(wait, needing: places)
    wait.isDecided = !isNeeded
    storage.lock.unlock()
    guard isNeeded, let report = refusal(of: wait) else { return Entry(wait: wait) }
    report.send()
    throw Deadlock(message: report.message)
  }

  /// Looks for a ring among the waits up to this one. If there is one, the wait is taken out again.
  private static func refusal(of wait: Wait) -> Report? {
    let storage = Engine.current.pointee.waits
    while true {
      storage.lock.lock()
      let threads = storage.waits[..<storage.placeOfFirst(from: wait.number)]
        .filter { $0.holdsSomething }
      storage.lock.unlockAfterReadingObject()
      var search = WaitSearch(threads, wait)
      let ring = search.findsRing() ? search.ring : []
      let report = ring.isEmpty ? nil : search.report()
      search.letGo()
      switch decide(wait, ring) {
      case .waits: return nil
      case .isRefused: return report
      case .looksAgain: continue
      }
    }
  }

  /// The waits of tasks inside operations of this lane that came before this one.
  static func tasks(in lane: UInt, before wait: Wait) -> [Wait] {
    let line = Engine.current.pointee.waits.line(of: lane)
    return tasks(in: line, of: lane, before: wait.number)
  }

  private static var lineCount: Int { 256 }

  private static func locked<Result>(_ body: (Storage) -> Result) -> Result {
    let storage = Engine.current.pointee.waits
    return storage.lock.withLock { body(storage) }
  }

  /// Lines of tasks' waits, for a walk through all of them; none if there has been no such wait.
  static var lines: Range<Int> {
    locked { $0.tasks.indices }
  }

  /// The waits in a line: those inside a lane, or, without one, each in one line only.
  @inline(never)
  static func tasks(in line: Int, of lane: UInt? = nil, before number: UInt64 = .max) -> [Wait] {
    let storage = Engine.current.pointee.waits
    var found: [Wait] = []
    storage.lock.lock()
    var next = storage.tasks.isEmpty ? nil : storage.tasks[line]
    while let place = next {
      let isMeant = lane.map { place.lane == $0 } ?? (place.wait.places.first === place)
      if isMeant && place.wait.number < number { found.append(place.wait) }
      next = place.next
    }
    storage.lock.unlockAfterReadingObject()
    return found
  }

  /// What a task's wait holds up and needs at this moment; nothing once it is over.
  @inline(never)
  static func state(of wait: Wait) -> (holders: [TaskWait.Holder], needs: [TaskWait.Need]) {
    guard let task = wait.task else { return ([], []) }
    return locked { _ in wait.isThere ? (task.holders(), task.needs()) : ([], []) }
  }

  /// Whether the caller may be the only thread that drains some executor.
  private static var mayDrainAlone: Bool {
    let engine = Engine.current
    if engine.pointee.waits.attachments.load(ordering: .relaxed) > 0 { return true }
    return inturn_system_is_main_thread() && Engine.isMainExecutorUsed
  }

  private enum Decision { case waits, isRefused, looksAgain }

  private static func decide(_ wait: Wait, _ ring: [Wait]) -> Decision {
    let storage = Engine.current.pointee.waits
    var backoff = Backoff()
    while true {
      storage.lock.lock()
      if ring.isEmpty {
        wait.isDecided = true
        storage.lock.unlock()
        return .waits
      }
      let isThere = ring.allSatisfy { $0.isThere }
      let areDecided = ring.allSatisfy { $0.isDecided || $0 === wait }
      if isThere && areDecided { storage.removeLocked(wait) }
      storage.lock.unlock()
      if !isThere { return .looksAgain }
      if areDecided { return .isRefused }
      // They came earlier, and wait for none that came later.
      backoff.pause()
    }
  }

  package static func leave(_ entry: Entry) {
    let storage = Engine.current.pointee.waits
    // In a forked child, a wait of its parent is in no list.
    guard let wait = entry.wait, wait.storage === storage else { return }
    storage.lock.withLock { storage.removeLocked(wait) }
  }

  /// The next wait by number, for a walk through all of them.
  @inline(never)
  static func next(after number: UInt64) -> Wait? {
    locked { storage in
      let place = storage.placeOfFirst(from: number + 1)
      return place < storage.waits.count ? storage.waits[place] : nil
    }
  }

  /// Whether a thread waits for observers of a value, in no operation.
  @inline(never)
  static var isForObservers: Bool {
    locked { storage in storage.waits.contains { $0.awaitedValue != nil } }
  }

  @inline(never)
  static func isThere(_ wait: Wait) -> Bool { locked { _ in wait.isThere } }

  /// A wait inside an operation of this lane: in its work, or by a task. The caller has a reference to
  /// the operation. A burst's frame does not say which one it calls: what is `inCall` there.
  static func wait(inside operation: OperationSlot.Pointer, of lane: Lane.Pointer, inCall: Bool)
    -> Wait?
  {
    var number: UInt64 = 0
    while let wait = next(after: number) {
      number = wait.number
      for frame in wait.frames where frame.lane != nil {
        let isIn = frame.operation == operation || inCall && frame.operation == nil
        if isIn && frame.lane == lane && !frame.isNotice { return wait }
        // Of calls in calls, the innermost one waits.
        break
      }
    }
    let holder = TaskWait.Holder(lane, UInt(bitPattern: operation))
    let line = Engine.current.pointee.waits.line(of: holder.lane)
    return tasks(in: line, of: holder.lane).first { state(of: $0).holders.contains(holder) }
  }

  /// The handle of the operation that a wait is for. Nil if the wait is over.
  @inline(never)
  static func handle(of wait: Wait) -> Handle? {
    guard case .operation(let slot) = wait.target else { return nil }
    return locked { _ in
      wait.isThere
        ? Handle(.operation, index: slot.index, generation: slot.firstGeneration) : nil
    }
  }

  /// Takes a reference to the operation that a wait is for. Nil if the wait is over.
  @inline(never)
  static func operation(of wait: Wait) -> OperationSlot.Pointer? {
    guard case .operation(let slot) = wait.target else { return nil }
    return locked { _ in
      if !wait.isThere { return nil }
      slot.addReference()
      return slot
    }
  }
}
