import Testing

@testable import InturnCore

/// What a batch's graph holds back, for every graph of a few operations and every order of their ends.
@Suite struct BatchGraphTests {
  private static let count = 4

  /// Every set of edges between `count` places.
  private static let graphs: [[BatchEdge]] = {
    let all = (0..<count).flatMap { place in
      (0..<place).map { BatchEdge(place: place, after: $0) }
    }
    return (0..<1 << all.count).map { bits in
      all.indices.filter { bits & 1 << $0 != 0 }.map { all[$0] }
    }
  }()

  private let batch = Batch(BatchOptions(), queue: Handle(bits: 0), count: 0)!

  private func withGraph<Result>(
    _ edges: [BatchEdge], _ body: (inout BatchGraph) -> Result
  ) -> Result {
    edges.withUnsafeBufferPointer {
      var graph = BatchGraph($0, count: Self.count, batch: .passUnretained(batch))!
      return body(&graph)
    }
  }

  /// Ends the operations at these places, one after another. Returns what was released with each of
  /// them, and what came out of the graph when it was then cancelled.
  private func play(_ edges: [BatchEdge], _ ends: [Int]) -> (released: [[Int]], swept: [Int]) {
    withGraph(edges) { graph in
      let released = ends.map { place in
        var now: [Int] = []
        graph.tellLater(of: place, 0..<graph.laterCount(of: place)) {
          now.append($0); #expect($1 == .ready)
        }
        return now
      }
      graph.cancel()
      for place in 0..<Self.count {
        graph.tellLater(of: place, 0..<graph.laterCount(of: place)) { _, _ in
          Issue.record("a cancelled graph tells nothing")
        }
      }
      var swept: [Int] = []
      let held = Int(graph.held)
      while let place = graph.takeHeld() { swept.append(place) }
      #expect(held == swept.count && graph.held == 0)
      return (released, swept)
    }
  }

  private func explore(_ edges: [BatchEdge], _ ends: [Int]) {
    let (released, swept) = play(edges, ends)
    func blockers(_ place: Int) -> Set<Int> {
      Set(edges.filter { $0.place == place }.map(\.after))
    }
    for (step, now) in released.enumerated() {
      let (before, after) = (Set(ends[..<step]), Set(ends[...step]))
      let due = (0..<Self.count).filter {
        blockers($0).isSubset(of: after) && !blockers($0).isSubset(of: before)
      }
      #expect(now.sorted() == due)
    }
    let startable = (0..<Self.count).filter { blockers($0).isSubset(of: ends) }
    #expect(swept == (0..<Self.count).filter { !startable.contains($0) })
    for place in startable where !ends.contains(place) { explore(edges, ends + [place]) }
  }

  @Test func `each is held until all that it comes after have ended, or the graph is cancelled`() {
    for edges in Self.graphs { explore(edges, []) }
  }

  @Test func `an edge that is there twice is told twice`() {
    let edge = BatchEdge(place: 1, after: 0)
    #expect(play([edge, edge], [0]).released == [[1]])
  }

  @Test func `some are told at a time`() {
    let edges = (1..<Self.count).map { BatchEdge(place: $0, after: 0) }
    withGraph(edges) { graph in
      var released: [Int] = []
      graph.tellLater(of: 0, 0..<2) {
        released.append($0); #expect($1 == .ready)
      }
      #expect(released == [1, 2] && graph.held == 1)
      graph.tellLater(of: 0, 2..<3) {
        released.append($0); #expect($1 == .ready)
      }
      #expect(released == [1, 2, 3] && graph.held == 0)
    }
  }

  @Test func `what needs a finish is lost once with the first that does not finish`() {
    let edges = [(2, 0), (2, 1), (3, 1)].map { BatchEdge(place: $0.0, after: $0.1) }
    edges.withUnsafeBufferPointer {
      var graph = BatchGraph(
        $0, count: Self.count, batch: .passUnretained(batch), needsFinished: true)!
      graph.tellLater(of: 0, 0..<1, isFinished: false) { #expect($0 == 2 && $1 == .lost) }
      var told: [Int] = []
      graph.tellLater(of: 1, 0..<2) { place, change in
        told.append(place)
        #expect(change == .ready)
      }
      #expect(told == [3] && graph.held == 0)
    }
  }

  @Test(arguments: graphs) func `an adjacency has each edge once, in order`(edges: [BatchEdge]) {
    for order in [edges, edges.reversed()] {
      order.withUnsafeBufferPointer {
        let later = Adjacency($0, count: Self.count)!
        for place in 0..<Self.count {
          let after = order.filter { $0.after == place }.map { UInt32($0.place) }
          #expect(Array(later[place]) == after)
        }
      }
    }
  }
}

/// What is kept of batches that are over.
@Suite struct BatchMemoryTests {
  @Test func `one piece is kept for a batch that it is large enough for`() {
    let memory = BatchMemory()
    let first = memory.take(100)!
    let second = memory.take(10)!
    #expect(first != second)
    memory.giveBack(second)
    memory.giveBack(first)
    #expect(memory.take(99)! == first)
    let third = memory.take(5)!
    #expect(third != first)
    memory.giveBack(first)
    memory.giveBack(third)
    // The last piece that was returned is kept, if it is large enough.
    let large = memory.take(1_000)!
    memory.giveBack(large)
    #expect(memory.take(0)! == large)
    memory.giveBack(large)
  }

  @Test func `a very large piece is not kept`() {
    let memory = BatchMemory()
    let small = memory.take(1)!
    memory.giveBack(small)
    memory.giveBack(memory.take(1_000_000)!)
    #expect(memory.take(1)! == small)
    memory.giveBack(small)
  }
}
