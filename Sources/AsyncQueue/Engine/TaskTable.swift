import Inturn
import Synchronization

/// The operations that have their own tasks, by task, from the task's creation until the operation
/// is over.
///
/// This is how an awaited task is recognised as an operation's, and how a running operation is
/// found by its own task and its child tasks.
///
/// Tasks that are created one after the other lie near each other, and so do their entries: with a
/// hundred thousand of them, scattered entries would cost a cache miss each.
enum TaskTable {
  private struct Entry {
    var task: TaskAddress
    var place: Unmanaged<Place>?

    static var none: Entry { Entry(task: .none, place: nil) }
  }

  /// A part of the table, for the tasks in some of the memory blocks: one cache line. Lock and
  /// content lie in its two halves, so that changing the content does not change the word that
  /// others watch meanwhile, the lock.
  private struct Shard {
    private let line: UnsafeMutableRawPointer

    static var lineSize: Int { 64 }

    init(line: UnsafeMutableRawPointer) { self.line = line }

    func initialize() {
      line.initializeMemory(as: BriefLock.self, to: BriefLock())
      contentMemory.initializeMemory(as: Content.self, to: Content())
    }

    /// Protects the content.
    @inline(__always)
    var lock: UnsafeMutablePointer<BriefLock> { line.assumingMemoryBound(to: BriefLock.self) }

    @inline(__always)
    var content: UnsafeMutablePointer<Content> {
      contentMemory.assumingMemoryBound(to: Content.self)
    }

    @inline(__always)
    private var contentMemory: UnsafeMutableRawPointer { line + Self.lineSize / 2 }
  }

  /// Open addressing with linear probing. A removal moves back the entries that had been displaced.
  private struct Content {
    private var entries = Content.makeEntries(Content.leastLength)
    /// The length minus one. The length is a power of two, and at most half of it is in use.
    private var mask = Content.leastLength - 1
    private var count: UInt = 0

    private static var leastLength: UInt { 16 }

    private static func makeEntries(_ length: UInt) -> UnsafeMutablePointer<Entry> {
      let entries = UnsafeMutablePointer<Entry>.allocate(capacity: Int(length))
      entries.initialize(repeating: .none, count: Int(length))
      return entries
    }

    /// Where the task's entry is, or where probing for it ends.
    @inline(__always)
    private func indexLocked(_ task: TaskAddress) -> UInt {
      var index = TaskTable.home(of: task) & mask
      while entries[Int(index)].task != task && entries[Int(index)].task != .none {
        index = (index &+ 1) & mask
      }
      return index
    }

    @inline(__always)
    func findLocked(_ task: TaskAddress) -> Unmanaged<Place>? {
      entries[Int(indexLocked(task))].place
    }

    @inline(__always)
    mutating func addLocked(_ task: TaskAddress, _ place: Unmanaged<Place>) {
      count += 1
      if count > mask / 2 { resizeLocked(to: (mask + 1) * 4) }
      entries[Int(indexLocked(task))] = Entry(task: task, place: place)
    }

    @inline(__always)
    mutating func removeLocked(_ task: TaskAddress) {
      var hole = indexLocked(task)
      var index = (hole &+ 1) & mask
      while entries[Int(index)].task != .none {
        let home = TaskTable.home(of: entries[Int(index)].task)
        if (index &- home) & mask >= (index &- hole) & mask {
          entries[Int(hole)] = entries[Int(index)]
          hole = index
        }
        index = (index &+ 1) & mask
      }
      entries[Int(hole)] = .none
      count -= 1
      // Memory for a crowd is given back when the crowd is gone.
      if count == 0 && mask >= Self.leastLength { resizeLocked(to: Self.leastLength) }
    }

    @inline(never)
    private mutating func resizeLocked(to newLength: UInt) {
      let (old, oldLength) = (entries, Int(mask) + 1)
      entries = Self.makeEntries(newLength)
      mask = newLength - 1
      for index in 0..<oldLength where old[index].task != .none {
        entries[Int(indexLocked(old[index].task))] = old[index]
      }
      old.deallocate()
    }
  }

  private static var shardBits: UInt { 6 }

  private nonisolated(unsafe) static let lines: UnsafeMutableRawPointer = {
    let size = Shard.lineSize << Int(shardBits)
    let lines = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: Shard.lineSize)
    for offset in stride(from: 0, to: size, by: Shard.lineSize) {
      Shard(line: lines + offset).initialize()
    }
    return lines
  }()

  // MARK: Where a task belongs

  /// Tasks in one block of memory have consecutive places, each its own, since a task is larger
  /// than a place's share of addresses. This hash spreads the blocks.
  @inline(__always)
  private static func hash(ofBlock task: TaskAddress) -> UInt {
    task.bits >> 14 &* 0x9E37_79B9_7F4A_7C15
  }

  @inline(__always)
  private static func home(of task: TaskAddress) -> UInt {
    // The upper bits of a product are the best ones. The highest select the shard.
    (hash(ofBlock: task) >> 32) << 6 | task.bits >> 8 & 63
  }

  @inline(__always)
  private static func shard(of task: TaskAddress) -> Shard {
    let index = hash(ofBlock: task) >> (UInt(UInt.bitWidth) - shardBits)
    return Shard(line: lines + Int(index) * Shard.lineSize)
  }

  // MARK: Operations

  /// From now until `remove`, the operation is found by its task, which lives that long. The caller
  /// keeps the place alive.
  static func add(_ place: Place, of task: TaskAddress) {
    let shard = shard(of: task)
    shard.lock.pointee.lock()
    shard.content.pointee.addLocked(task, Unmanaged.passUnretained(place))
    shard.lock.pointee.unlock()
  }

  static func remove(_ task: TaskAddress) {
    let shard = shard(of: task)
    shard.lock.pointee.lock()
    shard.content.pointee.removeLocked(task)
    shard.lock.pointee.unlock()
  }

  /// The operation of a task that is known to be alive.
  static func find(_ task: TaskAddress) -> Place? {
    let shard = shard(of: task)
    shard.lock.pointee.lock()
    defer { shard.lock.pointee.unlockAfterReadingObject() }
    return shard.content.pointee.findLocked(task)?.takeUnretainedValue()
  }
}
