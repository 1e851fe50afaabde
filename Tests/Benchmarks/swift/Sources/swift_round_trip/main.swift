/// Round trips from one task, one after the other, to something that nothing else uses.
///
/// Number: round trips. Peers: `run` (inturn); `enqueueAndWait` (inturn_enqueue_and_wait); `await` on
/// an actor's method from outside (actor_method); `await Task {}.value` (task_value).
import AsyncQueue
import Harness
import Synchronization

actor Counter {
  private var count = 0

  @inline(never)
  func add() { count += 1 }
}

/// What the caller does between two trips, without which the compiler would omit the way back.
@inline(never)
func backAgain() { trips.wrappingAdd(1, ordering: .relaxed) }

let trips = Atomic<Int>(0)

@Sendable func measure(_ program: Program) async {
  let count = program[0]
  let queue = FIFOQueue()
  let counter = Counter()
  await program.printBursts(operations: count) {
    await nanoseconds {
      switch program.peer {
      case "inturn":
        var ran = 0
        for _ in 0..<count {
          await queue.run { ran += 1 }
          backAgain()
        }
        program.require(ran == count, "each body has run")
      case "inturn_enqueue_and_wait":
        for _ in 0..<count {
          await queue.enqueueAndWait {}
          backAgain()
        }
      case "actor_method":
        for _ in 0..<count {
          await counter.add()
          backAgain()
        }
      case "task_value":
        for _ in 0..<count {
          // The standard library's own, as the module's has to check more.
          await Task {}._Concurrency::value
          backAgain()
        }
      default: program.unknownPeer()
      }
    }
  }
}

let program = Program(numbers: 1)
await Task.detached { await measure(program) }.value
