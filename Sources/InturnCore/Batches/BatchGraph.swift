/// One operation of a batch that comes after another one; see `inturn_batch_edge`.
package struct BatchEdge {
  package let place: Int
  /// The other one's place, which is smaller: so there is no ring.
  package let after: Int

  package init(place: Int, after: Int) {
    self.place = place
    self.after = after
  }
}

/// The places of a batch that come after each one.
struct Adjacency: ~Copyable {
  // Those of one place begin where those of the place before end.
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
    // Backwards, so that each start ends up where it belongs, and those of one place in order.
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

/// Which operations of a batch still wait for others of it: they are *held*. Its lane's lock
/// protects it once the batch is accepted.
///
/// A node is held until all that it comes after have told it of their ends; or until one of them
/// did not finish, if it needs that; or until the graph is cancelled: then each one that is still
/// held is taken out, once.
struct BatchGraph: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<BatchGraph>

  enum Change { case ready, lost }

  private let later: Adjacency
  /// How many each one waits for; zero of those that are not held.
  private let blockers: UnsafeMutablePointer<UInt32>
  private let needsFinished: Bool
  private(set) var held: UInt32 = 0
  private(set) var isCancelled = false
  /// Of a cancelled graph: nothing before this place is held.
  private var swept = 0
  /// Whose entries its nodes are.
  let batch: Unmanaged<Batch>
  /// Whether those have slots, which their lane then has among what is blocked. Else the lane has
  /// the graph, in a list of those that hold something, or of cancelled ones.
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

  /// Calls `body` with each place that one which is held comes after, as far as a look at so many places
  /// and edges can tell, until it has found what it wants.
  func forEachEarlier(of node: Int, looks: Int, _ body: (Int) -> Bool) {
    if isCancelled || !isHeld(node) { return }
    var left = looks
    for place in 0..<node where left > 0 {
      left -= 1 + later[place].count
      if later[place].contains(UInt32(node)) && !body(place) { return }
    }
  }

  /// Tells some of those that come after a place how that has ended: `body` gets each one that is
  /// not held any more. `told` says which of them.
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

  /// Nothing is told any more; what is held is taken out.
  mutating func cancel() { isCancelled = true }

  /// Takes one out of a cancelled graph; nil when nothing is held any more.
  mutating func takeHeld() -> Int? {
    if held == 0 { return nil }
    while !isHeld(swept) { swept += 1 }
    blockers[swept] = 0
    held -= 1
    return swept
  }
}
