/// The armed timers of a clock. The clock's lock protects it and every node in it.
///
/// Most timers are due no earlier than one that was armed shortly before, as a program has only a
/// few different time-outs. Such timers form a *run*: a list in the order in which they are due.
/// Appending to a run, or removing any of its timers, costs the same however long it is. The heap
/// contains the first timer of each run. In the worst case, each run has one timer.
struct TimerHeap: ~Copyable {
  /// As many as the different time-outs in use at a time; older runs are no longer appended to.
  private static var openRuns: Int { 4 }

  /// Examining four adjacent entries costs as much as two that are apart.
  private static var children: Int { 4 }

  private struct Entry {
    /// A copy: the node is elsewhere in memory.
    let deadline: Int64
    let node: TimerNode.Pointer

    init(_ node: TimerNode.Pointer) {
      deadline = node.pointee.deadline
      self.node = node
    }
  }

  /// The first timer of each run; the one that is due first comes first.
  private var heap: [Entry] = []
  /// The last timers of the runs that can still be appended to.
  private let ends = UnsafeMutablePointer<TimerNode.Pointer?>.allocate(capacity: openRuns)
  private var oldestEnd = 0
  private var nextOrder: UInt64 = 0
  private(set) var count = 0

  init() {
    ends.initialize(repeating: nil, count: Self.openRuns)
    // See `WorkerPool.init`.
    heap.reserveCapacity(16)
  }

  deinit { ends.deallocate() }

  /// The timer that is due first; among equal deadlines, the one that was armed first.
  var first: TimerNode.Pointer? { heap.first?.node }

  /// Adds an unarmed timer whose deadline is set. True when it is due first.
  @_optimize(speed)
  mutating func insert(_ node: TimerNode.Pointer) -> Bool {
    node.pointee.order = nextOrder
    nextOrder += 1
    count += 1
    if let end = endBefore(node) {
      let last = ends[end].unsafelyUnwrapped
      last.pointee.next = node
      node.pointee.previous = last
      node.pointee.position = TimerNode.inRun
      ends[end] = node
      return false
    }
    ends[oldestEnd] = node
    oldestEnd = (oldestEnd + 1) % Self.openRuns
    heap.append(Entry(node))
    settle(Entry(node), at: heap.count - 1)
    return node.pointee.position == 0
  }

  /// Removes an armed timer.
  @_optimize(speed)
  mutating func remove(_ node: TimerNode.Pointer) {
    let (previous, next, position) =
      (node.pointee.previous, node.pointee.next, node.pointee.position)
    node.pointee.position = TimerNode.unarmed
    node.pointee.previous = nil
    node.pointee.next = nil
    count -= 1
    if let next {
      next.pointee.previous = previous
    } else {
      for end in 0..<Self.openRuns where ends[end] == node { ends[end] = previous }
    }
    if let previous {
      previous.pointee.next = next
      return
    }
    if let next { return settle(Entry(next), at: position) }
    let last = heap.removeLast()
    if last.node != node { settle(last, at: position) }
  }

  /// The run whose end is nearest before the timer, if there is any.
  private func endBefore(_ node: TimerNode.Pointer) -> Int? {
    var found: Int?
    var latest = Int64.min
    for end in 0..<Self.openRuns {
      guard let last = ends[end] else { continue }
      let deadline = last.pointee.deadline
      if deadline >= latest && deadline <= node.pointee.deadline {
        found = end
        latest = deadline
      }
    }
    return found
  }

  // MARK: The heap

  private func isBefore(_ left: Entry, _ right: Entry) -> Bool {
    if left.deadline != right.deadline { return left.deadline < right.deadline }
    return left.node.pointee.order < right.node.pointee.order
  }

  private mutating func put(_ entry: Entry, at position: Int) {
    heap[position] = entry
    entry.node.pointee.position = position
  }

  /// Puts an entry at a position, and moves it up or down to where it belongs.
  private mutating func settle(_ entry: Entry, at position: Int) {
    var position = position
    while position > 0 {
      let parent = (position - 1) / Self.children
      if !isBefore(entry, heap[parent]) { break }
      put(heap[parent], at: position)
      position = parent
    }
    while true {
      var first = position * Self.children + 1
      if first >= heap.count { break }
      for child in first..<min(first + Self.children, heap.count)
      where isBefore(heap[child], heap[first]) {
        first = child
      }
      if !isBefore(heap[first], entry) { break }
      put(heap[first], at: position)
      position = first
    }
    put(entry, at: position)
  }
}
