/// No-op closures on a concurrent queue that runs one at a time: from the first one until all have run.
///
/// Number: operations. Peers: `enqueue {}` (inturn); the same with a handle and a finish token
/// (inturn_token); `addOperation {}` of Foundation's queue (foundation).
import AsyncOperation
import Foundation
import Harness

/// A count that is changed by operations that never overlap.
final class SerialCount: @unchecked Sendable {
  // Safe to share: only operations of a queue that runs one at a time use it, and the code that has
  // waited for all of them.
  var value = 0
}

let program = Program(numbers: 1)

@Sendable func measure(_ burst: (SerialCount) async throws -> Void) async {
  await program.printBursts(operations: program[0]) {
    let count = SerialCount()
    let time = await nanoseconds {
      do { try await burst(count) } catch { program.require(false, "the queue can be drained") }
    }
    program.require(count.value == program[0], "each operation ran once")
    return time
  }
}

let queue = ConcurrentQueue(maxConcurrent: 1)
switch program.peer {
case "inturn":
  await measure { count in
    for _ in 0..<program[0] { queue.enqueue { count.value += 1 } }
    try await queue.drain()
  }
case "inturn_token":
  await measure { count in
    for _ in 0..<program[0] {
      queue.enqueue { token in
        count.value += 1
        token.finish()
      }
    }
    try await queue.drain()
  }
case "foundation":
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  await measure { count in
    for _ in 0..<program[0] { queue.addOperation { count.value += 1 } }
    queue.finish()
  }
default: program.unknownPeer()
}

extension OperationQueue {
  /// Blocks, although the caller is asynchronous: nothing else should run meanwhile.
  func finish() { waitUntilAllOperationsAreFinished() }
}
