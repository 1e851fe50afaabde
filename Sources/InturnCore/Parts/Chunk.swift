/// A piece of a lane's buffer: jobs in order, from `start` up to `count`.
///
/// Chunks come in five sizes. A lane begins with the smallest, so that a million queues with one
/// operation each stay small, and takes the next size each time one is full.
struct Chunk {
  typealias Pointer = UnsafeMutablePointer<Chunk>

  var next: Pointer?
  /// How many jobs have been put in; only grows until the chunk is reused.
  var count: UInt32
  /// How many jobs have been taken out.
  var start: UInt32
  let sizeClass: UInt32
  /// How many jobs there is room for; less than the size's when the chunk is sealed.
  var capacity: UInt32
  /// Of its lane's rounds of squeezing, the one that has come by last.
  var round: UInt32 = 0
  /// Another one each time that it is taken from the pool.
  let number: UInt32

  static var sizeClasses: UInt32 { 5 }

  /// 8, 40, 168, 680 or 2728 jobs: with the header, a little less than 256 bytes, 1, 4, 16 and
  /// 64 KiB.
  @inline(__always)
  static func capacity(ofClass sizeClass: UInt32) -> UInt32 {
    // A third of 32 * 4^class - 8. Without a division, as it is asked for each time a queue that has
    // run empty goes on.
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

  /// The next one; there is one.
  @inline(__always)
  var first: Job { jobs[Int(pointee.start)] }

  @inline(__always)
  var isFull: Bool { pointee.count == pointee.capacity }

  @inline(__always)
  var isConsumed: Bool { pointee.start == pointee.count }

  /// Drops the jobs that are left, and takes no more: what comes next goes to another chunk.
  func seal() {
    pointee.count = pointee.start
    pointee.capacity = pointee.start
    pointee.next = nil
  }
}

/// Chunks that are not in use, a bounded number of each size.
struct ChunkPool: ~Copyable {
  /// Protects `shelves` and `taken`.
  private let lock = BriefLock()
  /// One for each size.
  private let shelves: UnsafeMutablePointer<(first: Chunk.Pointer?, count: UInt32)>
  /// How many chunks have been taken, of all sizes.
  private let taken = UnsafeMutablePointer<UInt32>.allocate(capacity: 1)

  /// At most so many bytes of a size are kept. Much of the largest, because for memory that is
  /// fetched anew the system's work costs as much as the operations themselves.
  private static func keptBytes(ofClass sizeClass: UInt32) -> Int {
    sizeClass == Chunk.sizeClasses - 1 ? 256 << 20 : 1 << 20
  }

  init() {
    shelves = .allocate(capacity: Int(Chunk.sizeClasses))
    shelves.initialize(repeating: (nil, 0), count: Int(Chunk.sizeClasses))
    taken.initialize(to: 0)
  }

  /// For a pool that nobody has used; the engine's lives as long as the process.
  deinit {
    shelves.deallocate()
    taken.deallocate()
  }

  /// An empty chunk, or nil when memory runs out. Of one that is *owed*, to operations that were
  /// accepted, it may be a smaller one, but there always is one.
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
      chunk = malloc(Chunk.byteCount(ofClass: sizeClass))?.bindMemory(
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
