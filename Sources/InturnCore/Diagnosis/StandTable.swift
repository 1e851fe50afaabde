/// What tells at two looks whether a lane has got on in between.
struct LaneProgress: Equatable {
  /// Of the lane's queue.
  let generation: UInt32
  /// Another one after each start and end.
  let mark: UInt64
  /// What the executor has taken, while the lane waits there: it comes nearer by that.
  let taken: Int
}

/// That a lane is in use, and since when it stands still.
struct Stand {
  typealias Pointer = UnsafeMutablePointer<Stand>

  /// Nil: it is not in use.
  private(set) var progress: LaneProgress?
  private(set) var since: Int64 = 0
  /// When it is worth asking again why.
  var nextLook: Int64 = 0
  /// What has been told to stand still, and has got on all the same, is slow: it is not told again
  /// before it has stood for so many times the limit.
  private(set) var tolerance: Int64 = 1
  private var generation: UInt32 = 0
  var isTold = false

  private static var mostTolerance: Int64 { 64 }

  /// Notes what is seen now. Whether that is what was seen at the last look.
  mutating func isUnchanged(_ seen: LaneProgress?, at now: Int64) -> Bool {
    if seen == progress { return seen != nil }
    if isTold { tolerance = min(tolerance * 2, Self.mostTolerance) }
    if let seen, seen.generation != generation { (generation, tolerance) = (seen.generation, 1) }
    (progress, since, nextLook, isTold) = (seen, now, 0, false)
    return false
  }
}

/// The stands of lanes by index, in pieces that are made with the first lane in use. Where there is
/// no memory, there are none.
struct StandTable: ~Copyable {
  private static var shift: UInt32 { 8 }
  private static var pieceSize: Int { 1 << shift }

  private var pieces: UnsafeMutablePointer<Stand.Pointer?>?
  private var count = 0

  deinit {
    for place in 0..<count { pieces![place]?.deallocate() }
    free(pieces)
  }

  func existing(_ index: UInt32) -> Stand.Pointer? {
    let place = Int(index >> Self.shift)
    if place >= count { return nil }
    return pieces![place].map { $0 + (Int(index) & (Self.pieceSize - 1)) }
  }

  /// Nil when memory runs out.
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

  /// Since when a lane that is as it is now stands still. Nil when it has got on since the last look.
  func since(_ lane: Lane.Pointer, mark: UInt64) -> Int64? {
    guard let index = Engine.current.pointee.lanes.index(of: lane),
      let stand = existing(index)?.pointee, stand.progress?.mark == mark
    else { return nil }
    return stand.since
  }
}
