import Synchronization

/// What can live in a `Slab`.
protocol SlabElement: ~Copyable {
  /// The link of the slab's free list. The element may use it while it is in use.
  var link: UInt32 { get set }
}

/// A growing table of elements that never move and whose memory is never given back.
///
/// Indices start at 1. Any index ever given out can be turned into a pointer without a lock and
/// read at any time, also after its element is gone; that is what lets a stale handle be checked
/// by looking at the slot itself. New memory is all zero. The engine's state makes use of both.
struct Slab<Element: SlabElement & ~Copyable>: ~Copyable {
  private static var segmentShift: UInt32 { 12 }
  private static var segmentSize: UInt32 { 1 << segmentShift }

  private struct Counts {
    var live: UInt64 = 0
    var freeHead: UInt32 = 0
    /// The first index that was never given out.
    var unused: UInt32 = 1
  }

  /// Protects `counts`.
  private let lock = BriefLock()
  private let counts = UnsafeMutablePointer<Counts>.allocate(capacity: 1)
  /// The segments' addresses. Stored with releasing order after the memory was made, loaded with
  /// acquiring order by readers that hold no lock.
  private let directory: UnsafeMutablePointer<Atomic<UInt>>

  init?() {
    let count = Int((Handle.maximumIndex + 1) >> Self.segmentShift)
    guard let memory = calloc(count, MemoryLayout<UInt>.stride) else { return nil }
    directory = memory.bindMemory(to: Atomic<UInt>.self, capacity: count)
    counts.initialize(to: Counts())
  }

  var liveCount: UInt64 { lock.withLock { counts.pointee.live } }

  /// The element at an index, or nil for an index that was never given out.
  @inline(__always)
  func pointer(at index: UInt32) -> UnsafeMutablePointer<Element>? {
    let segment = directory[Int(index >> Self.segmentShift)].load(ordering: .acquiring)
    return UnsafeMutablePointer<Element>(bitPattern: segment).map {
      $0 + Int(index & (Self.segmentSize - 1))
    }
  }

  /// An element that nobody uses, as its last user left it, or nil when memory runs out.
  func take() -> (index: UInt32, element: UnsafeMutablePointer<Element>)? {
    lock.lock()
    defer { lock.unlock() }
    let index: UInt32
    if counts.pointee.freeHead != 0 {
      index = counts.pointee.freeHead
      counts.pointee.freeHead = pointer(at: index)!.pointee.link
    } else {
      index = counts.pointee.unused
      guard index <= Handle.maximumIndex, ensureSegmentLocked(of: index) else { return nil }
      counts.pointee.unused += 1
    }
    counts.pointee.live += 1
    return (index, pointer(at: index)!)
  }

  /// Gives an element back. A retired one is not used again.
  func giveBack(_ index: UInt32, retired: Bool = false) {
    lock.lock()
    defer { lock.unlock() }
    counts.pointee.live -= 1
    if retired { return }
    pointer(at: index)!.pointee.link = counts.pointee.freeHead
    counts.pointee.freeHead = index
  }

  private func ensureSegmentLocked(of index: UInt32) -> Bool {
    let entry = directory + Int(index >> Self.segmentShift)
    if entry.pointee.load(ordering: .relaxed) != 0 { return true }
    // Zeroed memory from the allocator is untouched pages; one line more aligns the elements.
    let line = 64
    let size = Int(Self.segmentSize) * MemoryLayout<Element>.stride + line
    guard let memory = calloc(1, size) else { return false }
    let aligned = (UInt(bitPattern: memory) + UInt(line - 1)) & ~UInt(line - 1)
    entry.pointee.store(aligned, ordering: .releasing)
    return true
  }
}
