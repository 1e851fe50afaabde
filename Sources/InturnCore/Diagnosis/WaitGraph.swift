import CInturnSystem
import Synchronization

/// Who waits for whom: the waits that are made from inside the library's callbacks.
///
/// A wait is refused when nobody could ever get on: when what it waits for needs places that are all
/// held, directly or by way of others, by threads which wait for it in turn. A thread that holds
/// nothing, as it is inside no callback and is not the only one that may drain an executor, is part
/// of no ring: its waits are not looked at.
///
/// Each wait gets a number and is entered in one short step; then it looks for a ring among those
/// that came before it, without that lock. So of each ring the wait that came last, which has all
/// others before it, finds it, and no other one: exactly one is refused. What is read during the
/// search may change meanwhile, but a thread that waits changes nothing. So a ring that was pieced
/// together is one if all of its waits are still there at the end, and none of them is itself about
/// to be refused; else the search is made again, and each time there are fewer that came before.
/// (What others do at that moment, such as a cancel, may come too late to be seen.)
///
/// A search costs as much as there is that keeps the operation back: about half a microsecond for each
/// one before it in a chain, up to 100,000 of them, on the caller's thread. No lock is held for longer
/// than a look at one operation, or at so many pending ones as take a millisecond.
enum WaitGraph {
  enum Target {
    /// Everything of a queue.
    case queue(Lane.Pointer)
    /// The calls of a queue that are under way.
    case calls(of: Lane.Pointer)
    /// One operation, of which the waiter holds a reference.
    case operation(OperationSlot.Pointer)
    /// What a value's observers are to be done with.
    case observers(of: TrailBase, TrailWait)
  }

  /// That a wait is entered, as long as it lasts; or that it need not be.
  struct Entry {
    fileprivate let wait: Wait?
  }

  /// A wait that others look at.
  final class Wait: @unchecked Sendable {
    // Safe to share: `isDecided` is protected by the storage's lock, and the rest never changes.

    let number: UInt64
    /// Copies of the waiting thread's frames, innermost first.
    let frames: [CallFrame]
    let thread: UInt
    let isOnMainThread: Bool
    let target: Target
    /// It is not to be refused any more.
    @exclusivity(unchecked) fileprivate(set) var isDecided = false

    fileprivate init(_ number: UInt64, _ frames: [CallFrame], _ target: Target) {
      self.number = number
      self.frames = frames
      self.target = target
      thread = inturn_system_thread()
      isOnMainThread = inturn_system_is_main_thread()
    }
  }

  /// What the engine keeps of the waits.
  final class Storage: @unchecked Sendable {
    // Safe to share: `lock` protects the rest.

    /// Held for a few steps for each wait there is; no other lock is taken meanwhile.
    fileprivate let lock = BriefLock()
    /// How many executors loops have taken over, each for its thread. Relaxed: a thread that has one
    /// knows that itself.
    let attachments = Atomic<Int>(0)
    /// In the order of their numbers.
    @exclusivity(unchecked) fileprivate var waits: [Wait] = []
    @exclusivity(unchecked) fileprivate var lastNumber: UInt64 = 0

    fileprivate func place(of number: UInt64) -> Int? {
      let place = placeOfFirst(from: number)
      return place < waits.count && waits[place].number == number ? place : nil
    }

    /// Of the first with this number or a later one.
    fileprivate func placeOfFirst(from number: UInt64) -> Int {
      var (low, high) = (0, waits.count)
      while low < high {
        let middle = (low + high) / 2
        if waits[middle].number < number { low = middle + 1 } else { high = middle }
      }
      return low
    }
  }

  /// Enters a wait. Nil, after a report that names the ring, when it could never end.
  static func enter(_ target: Target) -> Entry? {
    let storage = Engine.current.pointee.waits
    let frames = CallFrame.all
    if frames.isEmpty && !mayDrainAlone { return Entry(wait: nil) }
    storage.lock.lock()
    storage.lastNumber += 1
    let wait = Wait(storage.lastNumber, frames, target)
    storage.waits.append(wait)
    storage.lock.unlock()
    while true {
      storage.lock.lock()
      let waits = Array(storage.waits[...storage.place(of: wait.number)!])
      storage.lock.unlockAfterReadingObject()
      var search = WaitSearch(waits)
      let ring = search.findRing()
      let report = ring.isEmpty ? nil : search.report(ring)
      search.letGo()
      switch decide(wait, ring) {
      case .waits: return Entry(wait: wait)
      case .isRefused:
        report?.send()
        return nil
      case .looksAgain: continue
      }
    }
  }

  /// Whether the caller may be the only one that drains some executor.
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
      let isThere = ring.allSatisfy { storage.place(of: $0.number) != nil }
      let areDecided = ring.allSatisfy { $0.isDecided || $0 === wait }
      if isThere && areDecided { storage.waits.remove(at: storage.place(of: wait.number)!) }
      storage.lock.unlock()
      if !isThere { return .looksAgain }
      if areDecided { return .isRefused }
      // They came before, and wait for none that comes after.
      backoff.pause()
    }
  }

  static func leave(_ entry: Entry) {
    guard let wait = entry.wait else { return }
    let storage = Engine.current.pointee.waits
    storage.lock.lock()
    if let place = storage.place(of: wait.number) { storage.waits.remove(at: place) }
    storage.lock.unlockAfterReadingObject()
  }

  /// The next wait by its number, for who looks at all of them.
  static func next(after number: UInt64) -> Wait? {
    let storage = Engine.current.pointee.waits
    storage.lock.lock()
    defer { storage.lock.unlockAfterReadingObject() }
    let place = storage.placeOfFirst(from: number + 1)
    return place < storage.waits.count ? storage.waits[place] : nil
  }

  static func isThere(_ wait: Wait) -> Bool {
    let storage = Engine.current.pointee.waits
    return storage.lock.withLock { storage.place(of: wait.number) != nil }
  }

  /// The name of the operation that a wait is for. Nil when the wait is over.
  static func handle(of wait: Wait) -> Handle? {
    guard case .operation(let slot) = wait.target else { return nil }
    let storage = Engine.current.pointee.waits
    return storage.lock.withLock {
      storage.place(of: wait.number) == nil
        ? nil : Handle(.operation, index: slot.index, generation: slot.firstGeneration)
    }
  }

  /// Takes a reference of the operation that a wait is for. Nil when the wait is over.
  static func operation(of wait: Wait) -> OperationSlot.Pointer? {
    guard case .operation(let slot) = wait.target else { return nil }
    let storage = Engine.current.pointee.waits
    storage.lock.lock()
    defer { storage.lock.unlock() }
    if storage.place(of: wait.number) == nil { return nil }
    slot.addReference()
    return slot
  }
}
