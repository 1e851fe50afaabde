/// Compared between two looks, it tells whether a lane has made progress.
struct LaneProgress: Equatable {
  /// Of the lane's queue.
  let generation: UInt32
  /// Changes with each start and end.
  let mark: UInt64
  /// How many jobs the executor has taken, while the lane waits for it: each brings its turn nearer.
  let taken: UInt32
  /// The queue's own.
  let limit: StallLimit
}

/// Whether a lane is in use, and since when it is stalled.
struct Stand {
  typealias Pointer = UnsafeMutablePointer<Stand>

  /// Nil if the lane is not in use.
  private(set) var progress: LaneProgress?
  private(set) var since: Int64 = 0
  /// When to ask for the reason again.
  var nextLook: Int64 = 0
  /// A lane that has made progress after a report was only slow: it is not reported again before it has
  /// been stalled for this many times the limit.
  private(set) var tolerance: Int64 = 1
  private var generation: UInt32 = 0
  var isTold = false

  /// Notes the present progress. Whether it is the same as at the last look.
  mutating func isUnchanged(_ seen: LaneProgress?, at now: Int64) -> Bool {
    if seen == progress { return seen != nil }
    if isTold { tolerance = min(tolerance * 2, StallLimit.mostTolerance) }
    if let seen, seen.generation != generation { (generation, tolerance) = (seen.generation, 1) }
    (progress, since, nextLook, isTold) = (seen, now, 0, false)
    return false
  }
}

/// The stands of lanes by index, in pieces that are allocated with the first lane in use. Without
/// memory, there are none.
struct StandTable: ~Copyable {
  private static var shift: UInt32 { 8 }
  private static var pieceSize: Int { 1 << shift }

  private var pieces: UnsafeMutablePointer<Stand.Pointer?>?
  private var count = 0
  /// When the process was last seen to go on after it had been stopped: what stood still before then
  /// may not have been able to move.
  var resumedAt = Int64.min

  deinit {
    for place in 0..<count { pieces![place]?.deallocate() }
    free(pieces)
  }

  func existing(_ index: UInt32) -> Stand.Pointer? {
    let place = Int(index >> Self.shift)
    if place >= count { return nil }
    return pieces![place].map { $0 + (Int(index) & (Self.pieceSize - 1)) }
  }

  /// Nil if memory runs out.
  mutating func make(_ index: UInt32) -> Stand.Pointer? {
    if let stand = existing(index) { return stand }
    let place = Int(index >> Self.shift)
    if place >= count && !grow(to: place + 1) { return nil }
    guard let memory = malloc(Self.pieceSize * MemoryLayout<Stand>.stride) else { return nil }
    let piece = memory.bindMemory(to: Stand.self, capacity: Self.pieceSize)
    piece.initialize(repeating: Stand(), count: Self.pieceSize)
    pieces![place] = piece
    return existing(index)
  }

  private mutating func grow(to needed: Int) -> Bool {
    let room = max(needed, 2 * count)
    let size = room * MemoryLayout<Stand.Pointer?>.stride
    guard let memory = realloc(pieces, size) else { return false }
    let larger = memory.bindMemory(to: Stand.Pointer?.self, capacity: room)
    (larger + count).initialize(repeating: nil, count: room - count)
    (pieces, count) = (larger, room)
    return true
  }

  /// Since when a lane has had this mark. Nil if it has made progress since the last look.
  func since(_ lane: Lane.Pointer, mark: UInt64) -> Int64? {
    guard let index = Engine.current.pointee.lanes.index(of: lane),
      let stand = existing(index)?.pointee, stand.progress?.mark == mark
    else { return nil }
    return max(stand.since, resumedAt)
  }
}
