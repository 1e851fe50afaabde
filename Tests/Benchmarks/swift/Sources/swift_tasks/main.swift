/// Tasks that take turns on a queue: from creating the first task until all have ended.
///
/// Numbers: operations; the queue (0 FIFO, 1 actor, 2 main actor). Peer: bare tasks, without order.
import AsyncQueue
import Harness
import Synchronization

actor Idle {}

/// Signals that this many have ended.
final class Countdown: Sendable {
  private let rest: Atomic<Int>
  private let done: UnsafeContinuation<Void, Never>

  init(_ count: Int, _ done: UnsafeContinuation<Void, Never>) {
    rest = Atomic(count)
    self.done = done
  }

  func end() {
    if rest.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.resume() }
  }
}

@Sendable func measure(_ program: Program) async {
  let operations = program[0]
  let fifo = FIFOQueue()
  let idle = Idle()
  let onActor = ActorQueue(of: idle)
  let queue = program[1]
  await program.printBursts(operations: operations) {
    await nanoseconds {
      await withUnsafeContinuation { done in
        let countdown = Countdown(operations, done)
        switch (program.peer, queue) {
        case ("inturn", 0):
          for _ in 0..<operations { Task(on: fifo) { countdown.end() } }
        case ("inturn", 1):
          for _ in 0..<operations { Task(on: onActor) { _ in countdown.end() } }
        case ("inturn", 2):
          for _ in 0..<operations { Task(on: MainActor.queue) { countdown.end() } }
        case ("task", _):
          for _ in 0..<operations { Task { countdown.end() } }
        default: program.unknownPeer()
        }
      }
    }
  }
}

let program = Program(numbers: 2)
await Task.detached { await measure(program) }.value
