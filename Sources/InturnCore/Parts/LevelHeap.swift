/// The levels of a lane's order with pending operations, as a binary heap: the highest priority
/// first. Each level knows its position. The lane's lock protects it.
///
/// Uses its own memory rather than an array's, as on most lanes a single level comes and goes with
/// each operation.
struct LevelHeap: ~Copyable {
  private var levels = UnsafeMutablePointer<LaneOrder.Level.Pointer>.allocate(capacity: 4)
  private var capacity = 4
  private(set) var count = 0

  deinit { levels.deallocate() }

  @inline(__always)
  var isEmpty: Bool { count == 0 }

  @inline(__always)
  var first: LaneOrder.Level.Pointer? { count > 0 ? levels[0] : nil }

  subscript(position: Int) -> LaneOrder.Level.Pointer { levels[position] }

  /// A copy, in no order.
  var all: [LaneOrder.Level.Pointer] { Array(UnsafeBufferPointer(start: levels, count: count)) }

  /// Makes room for `count` levels. False when memory runs out, unless the room is owed.
  mutating func reserve(_ count: Int, isOwed: Bool) -> Bool {
    if count <= capacity { return true }
    let larger = isOwed ? .allocate(capacity: 2 * capacity) : Self.memory(2 * capacity)
    guard let larger else { return false }
    larger.moveInitialize(from: levels, count: self.count)
    levels.deallocate()
    levels = larger
    capacity *= 2
    return true
  }

  private static func memory(_ count: Int) -> UnsafeMutablePointer<LaneOrder.Level.Pointer>? {
    malloc(count * MemoryLayout<LaneOrder.Level.Pointer>.stride)?
      .bindMemory(to: LaneOrder.Level.Pointer.self, capacity: count)
  }

  /// Requires that there is room.
  @inline(__always)
  mutating func insert(_ level: LaneOrder.Level.Pointer) {
    count += 1
    place(level, at: count - 1)
    if count > 1 { settle(level, at: count - 1) }
  }

  @inline(__always)
  mutating func remove(_ level: LaneOrder.Level.Pointer) {
    count -= 1
    let position = level.pointee.position
    level.pointee.position = -1
    if position == count { return }
    let last = levels[count]
    settle(last, at: position)
  }

  private func settle(_ level: LaneOrder.Level.Pointer, at position: Int) {
    var position = position
    while position > 0 {
      let parent = (position - 1) / 2
      if levels[parent].pointee.priority >= level.pointee.priority { break }
      place(levels[parent], at: position)
      position = parent
    }
    while true {
      var child = 2 * position + 1
      if child >= count { break }
      if child + 1 < count,
        levels[child + 1].pointee.priority > levels[child].pointee.priority
      {
        child += 1
      }
      if levels[child].pointee.priority <= level.pointee.priority { break }
      place(levels[child], at: position)
      position = child
    }
    place(level, at: position)
  }

  @inline(__always)
  private func place(_ level: LaneOrder.Level.Pointer, at position: Int) {
    levels[position] = level
    level.pointee.position = position
  }
}
