/// The dependency of one operation of a batch on another; see `inturn_batch_edge`.
package struct BatchEdge {
  package let place: Int
  /// The other operation's place, which is smaller, so that there can be no ring.
  package let after: Int

  package init(place: Int, after: Int) {
    self.place = place
    self.after = after
  }
}

/// For each place of a batch, the places that depend on it.
struct Adjacency: ~Copyable {
  // The range of one place begins where that of the previous one ends.
  private let starts: UnsafeMutablePointer<UInt32>
  private let places: UnsafeMutablePointer<UInt32>

  /// Nil when memory runs out.
  init?(_ edges: UnsafeBufferPointer<BatchEdge>, count: Int) {
    let size = MemoryLayout<UInt32>.stride
    guard let memory = calloc(count + 1 + edges.count, size) else { return nil }
    starts = memory.bindMemory(to: UInt32.self, capacity: count + 1 + edges.count)
    places = starts + (count + 1)
    for edge in edges { starts[edge.after] += 1 }
    var end: UInt32 = 0
    for place in 0...count {
      end += starts[place]
      starts[place] = end
    }
    // Backwards, so that each start ends up where it belongs and each range is in order.
    for edge in edges.reversed() {
      starts[edge.after] -= 1
      places[Int(starts[edge.after])] = UInt32(edge.place)
    }
  }

  deinit { free(starts) }

  subscript(place: Int) -> UnsafeBufferPointer<UInt32> {
    @inline(__always) get {
      let start = Int(starts[place])
      return UnsafeBufferPointer(start: places + start, count: Int(starts[place + 1]) - start)
    }
  }
}

/// Which operations of a batch still wait for others in it: they are *held*. The lane's lock
/// protects it once the batch is accepted.
///
/// A node is held until all its dependencies have ended. If it needs them finished, it is held
/// until one of them did not finish. When the graph is cancelled, each node that is still held is
/// taken out, once.
struct BatchGraph: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<BatchGraph>

  enum Change { case ready, lost }

  private let later: Adjacency
  /// How many dependencies each node waits for; zero when it is not held.
  private let blockers: UnsafeMutablePointer<UInt32>
  private let needsFinished: Bool
  private(set) var held: UInt32 = 0
  private(set) var isCancelled = false
  /// In a cancelled graph: nothing before this place is held.
  private var swept = 0
  /// The batch whose entries are the nodes.
  let batch: Unmanaged<Batch>
  /// Whether the operations have slots, which their lane then keeps among the blocked ones.
  /// Otherwise the lane lists the graph while it holds something or is being cancelled.
  let hasSlots: Bool
  var previous: Pointer?
  var next: Pointer?

  /// Nil when memory runs out.
  init?(
    _ edges: UnsafeBufferPointer<BatchEdge>, count: Int, batch: Unmanaged<Batch>,
    hasSlots: Bool = false, needsFinished: Bool = false
  ) {
    guard let later = Adjacency(edges, count: count),
      let memory = calloc(count, MemoryLayout<UInt32>.stride)
    else { return nil }
    self.later = later
    blockers = memory.bindMemory(to: UInt32.self, capacity: count)
    self.batch = batch
    self.hasSlots = hasSlots
    self.needsFinished = needsFinished
    for edge in edges {
      if blockers[edge.place] == 0 { held += 1 }
      blockers[edge.place] += 1
    }
  }

  deinit { free(blockers) }

  @inline(__always)
  func isHeld(_ place: Int) -> Bool { blockers[place] > 0 }

  @inline(__always)
  func laterCount(of place: Int) -> Int { later[place].count }

  /// Calls `body` with each place that a held node depends on, until it returns false. Examines
  /// about `looks` places and edges at most.
  func forEachEarlier(of node: Int, looks: Int, _ body: (Int) -> Bool) {
    if isCancelled || !isHeld(node) { return }
    var left = looks
    for place in 0..<node where left > 0 {
      left -= 1 + later[place].count
      if later[place].contains(UInt32(node)) && !body(place) { return }
    }
  }

  /// Tells the dependents `told` of a place how it has ended. Calls `body` for each one that is no
  /// longer held.
  @inline(__always)
  mutating func tellLater(
    of place: Int, _ told: Range<Int>, isFinished: Bool = true, _ body: (Int, Change) -> Void
  ) {
    if isCancelled { return }
    for node in later[place][told] where isHeld(Int(node)) {
      let isLost = needsFinished && !isFinished
      blockers[Int(node)] = isLost ? 0 : blockers[Int(node)] - 1
      if isHeld(Int(node)) { continue }
      held -= 1
      body(Int(node), isLost ? .lost : .ready)
    }
  }

  /// Nothing is told any more; held nodes are taken out.
  mutating func cancel() { isCancelled = true }

  /// Takes a held node out of a cancelled graph; nil when none is held.
  mutating func takeHeld() -> Int? {
    if held == 0 { return nil }
    while !isHeld(swept) { swept += 1 }
    blockers[swept] = 0
    held -= 1
    return swept
  }
}
