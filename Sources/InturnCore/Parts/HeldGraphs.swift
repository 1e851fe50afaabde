/// The graphs of a lane's batches that hold operations without slots.
struct HeldGraphs {
  private(set) var first: BatchGraph.Pointer?
  /// Cancelled graphs: the contexts of the operations that they hold are still to be destroyed.
  private(set) var firstCancelled: BatchGraph.Pointer?
  /// How many operations the graphs of the first list hold.
  private(set) var count: UInt32 = 0

  mutating func add(_ graph: BatchGraph.Pointer) {
    count += graph.pointee.held
    graph.pointee.next = first
    first?.pointee.previous = graph
    first = graph
  }

  /// A graph holds `released` operations less.
  mutating func release(_ released: UInt32, of graph: BatchGraph.Pointer) {
    count -= released
    if graph.pointee.held == 0 && released > 0 { remove(graph) }
  }

  /// Cancels a graph, so that what it holds is destroyed. Returns how many operations that is.
  mutating func cancel(_ graph: BatchGraph.Pointer) -> UInt32 {
    let held = graph.pointee.held
    remove(graph)
    graph.pointee.cancel()
    graph.pointee.next = firstCancelled
    firstCancelled = graph
    count -= held
    return held
  }

  /// The first cancelled graph holds nothing any more.
  mutating func firstCancelledIsEmpty() { firstCancelled = firstCancelled?.pointee.next }

  private mutating func remove(_ graph: BatchGraph.Pointer) {
    let (previous, next) = (graph.pointee.previous, graph.pointee.next)
    if let previous { previous.pointee.next = next } else { first = next }
    next?.pointee.previous = previous
    graph.pointee.previous = nil
    graph.pointee.next = nil
  }
}
