import CInturnSystem

/// A piece of a lane's buffer: jobs in order, from `start` up to `count`.
///
/// Chunks come in five sizes. A lane begins with the smallest, so that a million queues with one
/// operation each stay small, and takes the next size each time one is full.
struct Chunk {
  typealias Pointer = UnsafeMutablePointer<Chunk>

  var next: Pointer?
  /// How many jobs have been put in; never shrinks until the chunk is squeezed or reused.
  var count: UInt32
  /// How many jobs have been taken out.
  var start: UInt32
  let sizeClass: UInt32
  /// How many jobs fit; less than the size's capacity once the chunk is sealed.
  var capacity: UInt32
  /// The last of its lane's squeezing rounds that has visited this chunk.
  var round: UInt32 = 0
  /// A new number each time that it is taken from the pool.
  let number: UInt32

  static var sizeClasses: UInt32 { 5 }

  /// 8, 40, 168, 680 or 2728 jobs: with the header, a little less than 256 bytes, 1, 4, 16 and
  /// 64 KiB.
  @inline(__always)
  static func capacity(ofClass sizeClass: UInt32) -> UInt32 {
    // A third of 32 * 4^class - 8. Without a division, as this is asked each time that a queue goes
    // on after running empty.
    2728 & ((32 << (2 * sizeClass)) - 1)
  }

  static func byteCount(ofClass sizeClass: UInt32) -> Int {
    MemoryLayout<Chunk>.stride + Int(capacity(ofClass: sizeClass)) * MemoryLayout<Job>.stride
  }
}

extension UnsafeMutablePointer<Chunk> {
  @inline(__always)
  var jobs: UnsafeMutablePointer<Job> {
    UnsafeMutableRawPointer(self + 1).assumingMemoryBound(to: Job.self)
  }

  /// The next job; there must be one.
  @inline(__always)
  var first: Job { jobs[Int(pointee.start)] }

  @inline(__always)
  var isFull: Bool { pointee.count == pointee.capacity }

  @inline(__always)
  var isConsumed: Bool { pointee.start == pointee.count }

  /// Drops the remaining jobs and accepts no more: later ones go to another chunk.
  func seal() {
    pointee.count = pointee.start
    pointee.capacity = pointee.start
    pointee.next = nil
  }
}

/// Unused chunks, a bounded number of each size.
struct ChunkPool: ~Copyable {
  /// Protects `shelves` and `taken`.
  private let lock = BriefLock()
  /// One shelf for each size.
  private let shelves: UnsafeMutablePointer<(first: Chunk.Pointer?, count: UInt32)>
  /// How many chunks have been taken, of all sizes.
  private let taken = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)

  /// How many bytes of each size are kept. Many of the largest, because fetching that memory from
  /// the system costs as much as the operations themselves.
  private static func keptBytes(ofClass sizeClass: UInt32) -> Int {
    sizeClass == Chunk.sizeClasses - 1 ? 256 << 20 : 1 << 20
  }

  init() {
    shelves = .allocate(capacity: Int(Chunk.sizeClasses))
    shelves.initialize(repeating: (nil, 0), count: Int(Chunk.sizeClasses))
    taken.initialize(to: 0)
  }

  /// Only for a pool that nobody has used; the engine's lives as long as the process.
  deinit {
    shelves.deallocate()
    taken.deallocate()
  }

  /// Takes an empty chunk; nil when memory runs out. A chunk that is *owed*, to operations that
  /// were accepted, is always given, but may be smaller.
  func take(sizeClass: UInt32, isOwed: Bool = false) -> Chunk.Pointer? {
    let shelf = shelves + Int(sizeClass)
    lock.lock()
    taken.pointee &+= 1
    let number = taken.pointee
    var chunk = shelf.pointee.first
    if let found = chunk {
      shelf.pointee.first = found.pointee.next
      shelf.pointee.count -= 1
    }
    lock.unlock()
    if chunk == nil {
      // Its counts and its first job are on one line, which all that some queues ever pass on.
      chunk = inturn_system_allocate_lines(UInt(Chunk.byteCount(ofClass: sizeClass)))?.bindMemory(
        to: Chunk.self, capacity: 1)
    }
    if chunk == nil && isOwed {
      if sizeClass > 0 { return take(sizeClass: 0, isOwed: true) }
      chunk = UnsafeMutableRawPointer.allocate(
        byteCount: Chunk.byteCount(ofClass: 0), alignment: MemoryLayout<Job>.alignment
      ).bindMemory(to: Chunk.self, capacity: 1)
    }
    chunk?.initialize(
      to: Chunk(
        next: nil, count: 0, start: 0, sizeClass: sizeClass,
        capacity: Chunk.capacity(ofClass: sizeClass), number: number))
    return chunk
  }

  func giveBack(_ chunk: Chunk.Pointer) {
    let size = Chunk.byteCount(ofClass: chunk.pointee.sizeClass)
    let shelf = shelves + Int(chunk.pointee.sizeClass)
    lock.lock()
    let isKept = Int(shelf.pointee.count) * size < Self.keptBytes(ofClass: chunk.pointee.sizeClass)
    if isKept {
      chunk.pointee.next = shelf.pointee.first
      shelf.pointee.first = chunk
      shelf.pointee.count += 1
    }
    lock.unlock()
    if !isKept { free(chunk) }
  }
}
