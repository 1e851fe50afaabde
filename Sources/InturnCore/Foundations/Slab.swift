import CInturnSystem
import Synchronization

/// A growing table of elements that never move and whose memory is never freed.
///
/// Indices start at 1, or above a floor. Any index ever given out can be turned into a pointer
/// without a lock and read at any time, even after its element is gone. That is how a stale handle
/// is checked: by looking at the slot itself. New memory is all zero, and the engine relies on it.
struct Slab<Element: ~Copyable>: ~Copyable {
  private static var segmentShift: UInt32 { SlabDirectories.segmentShift }
  private static var segmentSize: UInt32 { 1 << segmentShift }
  /// Elements begin at a multiple of this, so that none lies in two pages, both of which would be
  /// mapped.
  private static var block: Int { 128 }
  /// A slab of this size grows by this many bytes at a time, for which the system has large pages.
  private static var large: Int { 8 << 20 }

  /// One allocation of one or more segments. This header lies directly before the first element.
  private struct Piece {
    let memory: UnsafeMutableRawPointer
    let earlier: UnsafeMutablePointer<Piece>?
  }

  private struct Indices {
    var live: UInt64 = 0
    /// The first index of all, and the first index for which there is no memory yet.
    let begin: UInt32
    var end: UInt32
    /// The first index that was never given out.
    var unused: UInt32
    /// Indices that were given back, the latest at the end. Has room for all indices.
    var free: UnsafeMutablePointer<UInt32>?
    var freeCount = 0
    /// How many elements are reserved for callers that cannot be refused.
    var kept: UInt32 = 0
    /// The newest piece; the others are linked from it.
    var lastPiece: UnsafeMutablePointer<Piece>?

    init(above floor: UInt32) {
      begin = floor / segmentSize * segmentSize
      end = begin
      unused = floor + 1
    }

    /// How many elements can be given out without more memory.
    var spare: Int { freeCount + Int(end) - Int(unused) }
  }

  /// Protects `indices`.
  private let lock = BriefLock()
  private let indices = UnsafeMutablePointer<Indices>.allocate(capacity: 1)
  /// The segments' addresses. Stored with releasing order once the memory is ready; loaded with
  /// acquiring order by readers that hold no lock.
  private let directory: UnsafeMutablePointer<Atomic<UInt>>

  /// The directories outlive the slab.
  init(above floor: UInt32 = 0, _ directories: SlabDirectories) {
    directory = directories.next()
    indices.initialize(to: Indices(above: floor))
  }

  /// Only for a slab that nobody has used; the engine's live as long as the process.
  deinit {
    while let piece = indices.pointee.lastPiece {
      indices.pointee.lastPiece = piece.pointee.earlier
      free(piece.pointee.memory)
    }
    free(indices.pointee.free)
    indices.deallocate()
  }

  var liveCount: UInt64 { lock.withLock { indices.pointee.live } }

  /// The indices that may have been given out so far. Not each of them has memory.
  var givenOut: Range<UInt32> {
    lock.withLock { indices.pointee.begin..<indices.pointee.unused }
  }

  /// The index of an element.
  func index(of element: UnsafeMutablePointer<Element>) -> UInt32? {
    for first in stride(
      from: givenOut.lowerBound, to: givenOut.upperBound, by: Int(Self.segmentSize))
    {
      guard let segment = pointer(at: first) else { continue }
      if element >= segment && element < segment + Int(Self.segmentSize) {
        return first + UInt32(element - segment)
      }
    }
    return nil
  }

  /// No index above this one has been given out. Read without the lock: for a forked child, in
  /// which nobody changes it any more.
  var highestIndex: UInt32 { indices.pointee.unused - 1 }

  /// The element at an index, or nil for an index that was never given out.
  @inline(__always)
  func pointer(at index: UInt32) -> UnsafeMutablePointer<Element>? {
    let segment = directory[Int(index >> Self.segmentShift)].load(ordering: .acquiring)
    return UnsafeMutablePointer<Element>(bitPattern: segment).map {
      $0 + Int(index & (Self.segmentSize - 1))
    }
  }

  /// An unused element, as its last user left it, or nil when memory runs out. With `isKept`, the
  /// caller may take a reserved one. `mayGrow` is asked before memory for that many elements is
  /// added.
  func take(
    isKept: Bool = false, mayGrow: (UInt32) -> Bool = { _ in true }
  ) -> (index: UInt32, element: UnsafeMutablePointer<Element>)? {
    lock.lock()
    defer { lock.unlock() }
    if indices.pointee.spare <= Int(indices.pointee.kept) && !growLocked(mayGrow) && !isKept {
      return nil
    }
    let index: UInt32
    if indices.pointee.freeCount > 0 {
      indices.pointee.freeCount -= 1
      index = indices.pointee.free![indices.pointee.freeCount]
    } else {
      index = indices.pointee.unused
      if index == indices.pointee.end { return nil }
      indices.pointee.unused += 1
      // A page that is read first would be mapped a second time when it is written.
      UnsafeMutableRawPointer(pointer(at: index)!).storeBytes(of: 0, as: UInt8.self)
    }
    indices.pointee.live += 1
    return (index, pointer(at: index)!)
  }

  /// Reserves at least `count` elements for callers that cannot be refused. False when memory runs
  /// out.
  func keep(_ count: UInt32) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    while indices.pointee.spare < Int(count) {
      if !addSegmentsLocked(1) { return false }
    }
    indices.pointee.kept = max(indices.pointee.kept, count)
    return true
  }

  /// Stops counting an element that will be given back later.
  func countOut() { lock.withLock { indices.pointee.live -= 1 } }

  /// Gives an element back. A retired one is not used again.
  func giveBack(_ index: UInt32, retired: Bool, countsOut: Bool = true) {
    lock.lock()
    defer { lock.unlock() }
    if countsOut { indices.pointee.live -= 1 }
    if retired { return }
    indices.pointee.free![indices.pointee.freeCount] = index
    indices.pointee.freeCount += 1
  }

  /// Allocates more elements: one segment at a time while the slab is small, many in large pages
  /// later, as mapping a small page takes longer than using its elements. Falls back to one segment
  /// when many are refused.
  @inline(never)
  private func growLocked(_ mayGrow: (UInt32) -> Bool) -> Bool {
    let many = UInt32(Self.large / (Int(Self.segmentSize) * MemoryLayout<Element>.stride))
    let count = indices.pointee.end - indices.pointee.begin
    if count >= many * Self.segmentSize && growLocked(by: many, mayGrow) { return true }
    return growLocked(by: 1, mayGrow)
  }

  private func growLocked(by segments: UInt32, _ mayGrow: (UInt32) -> Bool) -> Bool {
    // The very first index is not used.
    let room = indices.pointee.end - indices.pointee.begin + segments * Self.segmentSize - 1
    return mayGrow(room) && addSegmentsLocked(segments)
  }

  @inline(never)
  private func addSegmentsLocked(_ count: UInt32) -> Bool {
    let end = indices.pointee.end
    if end > Handle.maximumIndex + 1 - count * Self.segmentSize { return false }
    let room = Int(end - indices.pointee.begin + count * Self.segmentSize)
    guard let free = realloc(indices.pointee.free, room * MemoryLayout<UInt32>.stride)
    else { return false }
    indices.pointee.free = free.bindMemory(to: UInt32.self, capacity: room)
    // The elements begin at a multiple of `block`.
    let segment = Int(Self.segmentSize) * MemoryLayout<Element>.stride
    let size = Int(count) * segment + Self.block + MemoryLayout<Piece>.size
    guard let memory = untouchedMemory(size) else { return false }
    if count > 1 { inturn_system_expect_use(memory, UInt(size)) }
    let block = UInt(Self.block)
    let first =
      (UInt(bitPattern: memory) + UInt(MemoryLayout<Piece>.size) + block - 1) & ~(block - 1)
    let piece = UnsafeMutablePointer<Piece>(bitPattern: first)! - 1
    piece.initialize(to: Piece(memory: memory, earlier: indices.pointee.lastPiece))
    indices.pointee.lastPiece = piece
    for number in 0..<count {
      let entry = directory + Int(end >> Self.segmentShift) + Int(number)
      entry.pointee.store(first + UInt(number) * UInt(segment), ordering: .releasing)
    }
    indices.pointee.end = end + count * Self.segmentSize
    return true
  }
}

/// Memory for the directories of several slabs. Asking the system for each would take longer.
final class SlabDirectories {
  fileprivate static var segmentShift: UInt32 { 12 }
  private static var size: Int { Int((Handle.maximumIndex + 1) >> segmentShift) }

  private let memory: UnsafeMutablePointer<Atomic<UInt>>
  /// How many are left to be given out.
  private var rest: Int

  /// Nil when memory runs out.
  init?(_ count: Int) {
    guard let memory = untouchedMemory(count * Self.size * MemoryLayout<UInt>.stride)
    else { return nil }
    self.memory = memory.assumingMemoryBound(to: Atomic<UInt>.self)
    rest = count
  }

  fileprivate func next() -> UnsafeMutablePointer<Atomic<UInt>> {
    rest -= 1
    assert(rest >= 0)
    return memory + rest * Self.size
  }

  deinit { free(memory) }
}

/// Zeroed memory. The allocator usually asks the system for what is this large: these are untouched
/// pages, which cost nothing before they are used.
private func untouchedMemory(_ size: Int) -> UnsafeMutableRawPointer? {
  calloc(1, max(size, 160 << 10))
}
