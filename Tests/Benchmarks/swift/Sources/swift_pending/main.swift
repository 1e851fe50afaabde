/// Memory of pending operations, each with a closure that captures only one object, so that the
/// closure's own context is that object and costs nothing.
///
/// Numbers: operations; the queue (0 FIFO, 1 actor, 2 main actor).
import AsyncQueue
import Harness

#if canImport(Glibc)
  actor Idle {}

  @Sendable func measure(_ program: Program) async {
    guard program.peer == "inturn" else { program.unknownPeer() }
    let operations = program[0]
    let fifo = FIFOQueue()
    let idle = Idle()
    let onActor = ActorQueue(of: idle)
    let main = MainActorQueue()
    // One-time allocations are made before.
    await fifo.enqueueAndWait {}
    for queue in [fifo, onActor, main] as [any WorkQueue] { queue.suspend() }
    fifo.enqueue {}
    onActor.enqueue { _ in }
    main.enqueue {}
    let before = Memory.now
    switch program[1] {
    case 0: for _ in 0..<operations { fifo.enqueue {} }
    case 1: for _ in 0..<operations { onActor.enqueue { _ in } }
    default: for _ in 0..<operations { main.enqueue {} }
    }
    before.printGrowth(program, count: operations)
    for queue in [fifo, onActor, main] as [any WorkQueue] {
      queue.cancelAll()
      queue.resume()
    }
  }

  let program = Program(numbers: 2)
  await Task.detached { await measure(program) }.value
#endif
