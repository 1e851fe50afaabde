/// concurrent.cpp for Foundation: no-op operations on an `OperationQueue` that runs one at a time.
///
/// Number: operations.
import Foundation
import Harness

/// A count that is changed by operations that never overlap.
final class SerialCount: @unchecked Sendable {
  // Safe to share: only operations of a queue that runs one at a time use it, and the code that has
  // waited for all of them.
  var value = 0
}

let program = Program(numbers: 1)
guard program.peer == "foundation" else { program.unknownPeer() }
let queue = OperationQueue()
queue.maxConcurrentOperationCount = 1
await program.printBursts(operations: program[0]) {
  let count = SerialCount()
  let time = await nanoseconds {
    for _ in 0..<program[0] { queue.addOperation { count.value += 1 } }
    queue.finish()
  }
  program.require(count.value == program[0], "each operation ran once")
  return time
}

extension OperationQueue {
  /// Blocks, although the caller is asynchronous: nothing else should run meanwhile.
  func finish() { waitUntilAllOperationsAreFinished() }
}
