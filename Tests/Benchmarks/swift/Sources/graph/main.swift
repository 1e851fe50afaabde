/// graph.cpp for Foundation: a chain, or a fan, of operations on an `OperationQueue` that runs two at a
/// time.
///
/// Timed as there: from creating the first operation until all have run, without cleaning up.
/// Numbers: operations, 0 for a chain or 1 for a fan.
import Foundation
import Harness
import Synchronization

final class Graph: Sendable {
  let ran = Atomic(0)
  private let queue = OperationQueue()

  init() { queue.maxConcurrentOperationCount = 2 }

  func add(after earlier: [Operation]) -> Operation {
    let operation = BlockOperation { self.ran.wrappingAdd(1, ordering: .relaxed) }
    for one in earlier { operation.addDependency(one) }
    queue.addOperation(operation)
    return operation
  }

  /// Builds a graph, waits until all have run, and returns what has to be cleaned up.
  func run(operations: Int, isFan: Bool) -> [Operation] {
    let first = add(after: [])
    var all = [first]
    all.reserveCapacity(operations)
    if isFan {
      for _ in 2..<operations { all.append(add(after: [first])) }
      all.append(add(after: Array(all.dropFirst())))
    } else {
      for _ in 1..<operations { all.append(add(after: [all[all.count - 1]])) }
    }
    queue.waitUntilAllOperationsAreFinished()
    return all
  }
}

let program = Program(numbers: 2)
guard program.peer == "foundation" else { program.unknownPeer() }
await program.printBursts(operations: program[0]) {
  let graph = Graph()
  var remains: [Operation] = []
  let time = await nanoseconds {
    remains = graph.run(operations: program[0], isFan: program[1] == 1)
  }
  program.require(
    graph.ran.load(ordering: .relaxed) == program[0] && remains.count == program[0],
    "each operation ran once")
  // The last one first: an operation keeps those that it comes after, and a long chain would be
  // released recursively from its end.
  for operation in remains.reversed() {
    for dependency in operation.dependencies { operation.removeDependency(dependency) }
  }
  return time
}
