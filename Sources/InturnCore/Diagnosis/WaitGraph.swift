import CInturnSystem
import Synchronization

/// Who waits for whom: the waits that are made inside the library's callbacks.
///
/// A wait is refused if nobody could ever make progress: if what it waits for needs places that are all
/// held, directly or through others, by threads that wait for it in turn. A thread that is inside no
/// callback, and is not the only one that may drain an executor, holds nothing and is part of no ring:
/// its waits are not looked at.
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
/// operation before it in a chain, up to 100,000 of them, on the caller's thread. No lock is held for
/// longer than a look at one operation, or at about a millisecond's worth of pending ones.
enum WaitGraph {
  enum Target {
    /// Everything in a queue.
    case queue(Lane.Pointer)
    /// A queue's calls that are under way.
    case calls(of: Lane.Pointer)
    /// One operation; the waiter holds a reference to it.
    case operation(OperationSlot.Pointer)
    /// Calls of a value's observers.
    case observers(of: TrailBase, TrailWait)
  }

  /// An entered wait, for as long as it lasts; without one if the wait need not be entered.
  struct Entry {
    fileprivate let wait: Wait?
  }

  /// A wait as others see it.
  final class Wait: @unchecked Sendable {
    // Safe to share: `isDecided` is protected by the storage's lock, and the rest never changes.

    let number: UInt64
    /// Copies of the waiting thread's frames, innermost first.
    let frames: [CallFrame]
    let thread: UInt
    let isOnMainThread: Bool
    let target: Target
    /// It will not be refused any more.
    @exclusivity(unchecked) fileprivate(set) var isDecided = false

    fileprivate init(_ number: UInt64, _ frames: [CallFrame], _ target: Target) {
      self.number = number
      self.frames = frames
      self.target = target
      thread = inturn_system_thread()
      isOnMainThread = inturn_system_is_main_thread()
    }
  }

  /// The engine's waits.
  final class Storage: @unchecked Sendable {
    // Safe to share: `lock` protects the rest.

    /// Held for a few steps for each wait; no other lock is taken meanwhile.
    fileprivate let lock = BriefLock()
    /// How many executors are attached to loops, each to its thread. Relaxed: a thread with such an
    /// executor has written the number itself.
    let attachments = Atomic<Int>(0)
    /// Ordered by number.
    @exclusivity(unchecked) fileprivate var waits: [Wait] = []
    @exclusivity(unchecked) fileprivate var lastNumber: UInt64 = 0

    fileprivate func place(of number: UInt64) -> Int? {
      let place = placeOfFirst(from: number)
      return place < waits.count && waits[place].number == number ? place : nil
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

  /// Enters a wait. Nil, after a report that names the ring, if it could never end.
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
      let isThere = ring.allSatisfy { storage.place(of: $0.number) != nil }
      let areDecided = ring.allSatisfy { $0.isDecided || $0 === wait }
      if isThere && areDecided { storage.waits.remove(at: storage.place(of: wait.number)!) }
      storage.lock.unlock()
      if !isThere { return .looksAgain }
      if areDecided { return .isRefused }
      // They came earlier, and wait for none that came later.
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

  /// The next wait by number, for a walk through all of them.
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

  /// The handle of the operation that a wait is for. Nil if the wait is over.
  static func handle(of wait: Wait) -> Handle? {
    guard case .operation(let slot) = wait.target else { return nil }
    let storage = Engine.current.pointee.waits
    return storage.lock.withLock {
      storage.place(of: wait.number) == nil
        ? nil : Handle(.operation, index: slot.index, generation: slot.firstGeneration)
    }
  }

  /// Takes a reference to the operation that a wait is for. Nil if the wait is over.
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
