/// Enqueues no-op async closures from synchronous code: the time until all have run.
///
/// Numbers: operations; the queue (0 FIFO, 1 actor, 2 main actor). Peers: a serial DispatchQueue, which
/// cannot run async work; a bare task for each; an AsyncStream that one task drains. All count in the
/// same way, and the last operation reports that it was the last.
import AsyncQueue
import Dispatch
import Harness

/// Counts operations, which never overlap unless the peer lets them.
actor Counter {
  private(set) var count = 0

  func add() { count += 1 }
}

/// A count that is changed by operations of a serial queue.
final class SerialCount: @unchecked Sendable {
  // Safe to share: only a serial queue's operations use it, and the code that waits for the last one.
  var value = 0
}

@Sendable func measure(_ program: Program) async {
  let operations = program[0]
  switch (program.peer, program[1]) {
  case ("inturn", 0):
    let queue = FIFOQueue()
    await program.printBursts(operations: operations) {
      let count = SerialCount()
      let time = await nanoseconds {
        for _ in 0..<operations { queue.enqueue { count.value += 1 } }
        await queue.enqueueAndWait {}
      }
      program.require(count.value == operations, "each operation has run")
      return time
    }
  case ("inturn", 1):
    let counter = Counter()
    let queue = ActorQueue(of: counter)
    await program.printBursts(operations: operations) {
      let before = await counter.count
      let time = await nanoseconds {
        for _ in 0..<operations { queue.enqueue { $0.add() } }
        await queue.enqueueAndWait { _ in }
      }
      program.require(await counter.count - before == operations, "each operation has run")
      return time
    }
  case ("inturn", 2):
    await program.printBursts(operations: operations) {
      let count = SerialCount()
      let time = await nanoseconds {
        for _ in 0..<operations { MainActorQueue.shared.enqueue { count.value += 1 } }
        await MainActorQueue.shared.enqueueAndWait {}
      }
      program.require(count.value == operations, "each operation has run")
      return time
    }
  case ("libdispatch", _):
    let queue = DispatchQueue(label: "serial")
    await program.printBursts(operations: operations) {
      let count = SerialCount()
      let time = await nanoseconds {
        for _ in 0..<operations { queue.async { count.value += 1 } }
        await withUnsafeContinuation { done in queue.async { done.resume() } }
      }
      program.require(count.value == operations, "each operation has run")
      return time
    }
  case ("task", _):
    let counter = Counter()
    await program.printBursts(operations: operations) {
      let before = await counter.count
      let time = await nanoseconds {
        await withUnsafeContinuation { done in
          for _ in 0..<operations {
            Task {
              await counter.add()
              if await counter.count - before == operations { done.resume() }
            }
          }
        }
      }
      return time
    }
  case ("async_stream", _):
    await program.printBursts(operations: operations) {
      let count = SerialCount()
      let (stream, input) = AsyncStream.makeStream(of: (@Sendable () async -> Void).self)
      let drainer = Task.detached { for await operation in stream { await operation() } }
      let time = await nanoseconds {
        for _ in 0..<operations { input.yield { count.value += 1 } }
        input.finish()
        await drainer.value
      }
      program.require(count.value == operations, "each operation has run")
      return time
    }
  default: program.unknownPeer()
  }
}

let program = Program(numbers: 2)
await Task.detached { await measure(program) }.value
