/// concurrent.cpp for Foundation: no-op operations into an `OperationQueue` that runs one at a time.
///
/// Number: operations.
import Foundation
import Harness

/// A count that operations which never overlap may change.
final class SerialCount: @unchecked Sendable {
  // Safe to share: operations of a queue that runs one at a time touch it, and who has waited for
  // them all.
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
  /// Waits, though the caller is asynchronous: nothing else is to run meanwhile.
  func finish() { waitUntilAllOperationsAreFinished() }
}
