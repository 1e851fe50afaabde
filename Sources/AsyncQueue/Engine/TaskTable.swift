import Inturn
import Synchronization

/// The operations that have tasks of their own, by their tasks, from the task's creation until the
/// operation is over.
///
/// So a task that is awaited is known to be an operation's, and a task that runs one is found by
/// itself and by its child tasks.
///
/// Tasks that are created one after the other lie near each other, and their entries do, too: with a
/// hundred thousand of them, an entry that lay anywhere would cost a cache miss each time.
enum TaskTable {
  private struct Entry {
    var task: TaskAddress
    var frame: Unmanaged<OwnedFrame>?

    static var none: Entry { Entry(task: .none, frame: nil) }
  }

  /// A part of the table, of the tasks in some of the blocks of memory: one cache line. Lock and
  /// content are apart in it, as who changes the content does not change what others look at
  /// meanwhile, the lock.
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

  /// Open addressing, probed one by one; who leaves moves back those that had to go on because of
  /// it.
  private struct Content {
    private var entries = Content.makeEntries(Content.leastLength)
    /// One less than the length, a power of two, of which no more than half is in use.
    private var mask = Content.leastLength - 1
    private var count: UInt = 0

    private static var leastLength: UInt { 16 }

    private static func makeEntries(_ length: UInt) -> UnsafeMutablePointer<Entry> {
      let entries = UnsafeMutablePointer<Entry>.allocate(capacity: Int(length))
      entries.initialize(repeating: .none, count: Int(length))
      return entries
    }

    /// Where the task's entry is, or where the probe for it ends.
    @inline(__always)
    private func indexLocked(_ task: TaskAddress) -> UInt {
      var index = TaskTable.home(of: task) & mask
      while entries[Int(index)].task != task && entries[Int(index)].task != .none {
        index = (index &+ 1) & mask
      }
      return index
    }

    @inline(__always)
    func findLocked(_ task: TaskAddress) -> Unmanaged<OwnedFrame>? {
      entries[Int(indexLocked(task))].frame
    }

    @inline(__always)
    mutating func addLocked(_ task: TaskAddress, _ frame: Unmanaged<OwnedFrame>) {
      count += 1
      if count > mask / 2 { resizeLocked(to: (mask + 1) * 4) }
      entries[Int(indexLocked(task))] = Entry(task: task, frame: frame)
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
      // The room for a crowd is given back when that is gone.
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

  /// Tasks of a block of memory have places in a row, each its own, as a task is longer than what
  /// stands for one place; and what comes out here spreads the blocks.
  @inline(__always)
  private static func hash(ofBlock task: TaskAddress) -> UInt {
    task.bits >> 14 &* 0x9E37_79B9_7F4A_7C15
  }

  @inline(__always)
  private static func home(of task: TaskAddress) -> UInt {
    // The upper bits of a product are the best ones. The highest choose the shard.
    (hash(ofBlock: task) >> 32) << 6 | task.bits >> 8 & 63
  }

  @inline(__always)
  private static func shard(of task: TaskAddress) -> Shard {
    let index = hash(ofBlock: task) >> (UInt(UInt.bitWidth) - shardBits)
    return Shard(line: lines + Int(index) * Shard.lineSize)
  }

  // MARK: Operations

  /// From now on, until `remove`, the operation is found by its task, which lives as long. The
  /// caller keeps the frame.
  static func add(_ frame: OwnedFrame, of task: TaskAddress) {
    let shard = shard(of: task)
    shard.lock.pointee.lock()
    shard.content.pointee.addLocked(task, Unmanaged.passUnretained(frame))
    shard.lock.pointee.unlock()
  }

  static func remove(_ task: TaskAddress) {
    let shard = shard(of: task)
    shard.lock.pointee.lock()
    shard.content.pointee.removeLocked(task)
    shard.lock.pointee.unlock()
  }

  /// The operation of a task that is known to live.
  static func find(_ task: TaskAddress) -> OwnedFrame? {
    let shard = shard(of: task)
    shard.lock.pointee.lock()
    defer { shard.lock.pointee.unlockAfterReadingObject() }
    return shard.content.pointee.findLocked(task)?.takeUnretainedValue()
  }
}
