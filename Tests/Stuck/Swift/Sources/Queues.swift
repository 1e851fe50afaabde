import AsyncQueue
import Dispatch
import Inturn

let endless = [
  stuck("a task does not end", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    Task(on: network) { await forever() }
    Task(on: network) {}
    await forever()
  },
  stuck("an operation does not end", "load@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    network.enqueueTask(labelled("load")) { await forever() }
    try await network.enqueueTask {}.value
  },
  stuck("a closure does not end", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    network.enqueue { await forever() }
    await network.run {}
  },
  stuck("a task that may throw does not end", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    Task(on: network) { () async throws in await forever() }
    try await network.run { try Task.checkCancellation() }
  },
  stuck("a continuation is not resumed", "load@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    network.enqueueTask(labelled("load")) {
      await withCheckedContinuation { (reply: CheckedContinuation<Void, Never>) in kept.keep(reply)
      }
    }
    await network.run {}
  },
  stuck("a stream has no end", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    let (chunks, writer) = AsyncStream.makeStream(of: Int.self)
    network.enqueue { for await _ in chunks {} }
    await network.run {}
    writer.finish()
  },
  stuck("a thread waits for a semaphore", "load@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    network.enqueueTask(labelled("load")) { block() }
    await network.run {}
  },
  new("a body does not heed that it is cancelled", "load@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    let load = network.enqueueTask(labelled("load")) { await forever() }
    await started(network)
    load.cancel()
    await network.run {}
  },
  new(
    "a body goes on after its deadline",
    "load@network: it was cut off, and keeps its place until its token is finished"
  ) {
    let network = FIFOQueue(label: "network")
    network.enqueueTask(labelled("load") { $0.maxRun = .milliseconds(1) }) { await forever() }
    await network.run {}
  },
  new("a child task does not end", "load@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    network.enqueueTask(labelled("load")) {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<3 { group.addTask { await forever() } }
        group.cancelAll()
      }
    }
    await network.run {}
  },
  stuck(
    "what its caller runs does not end", "@network: the body that its caller runs has not returned"
  ) {
    let network = FIFOQueue(label: "network")
    let first = Task { await network.run { await forever() } }
    await started(network)
    network.enqueue {}
    await first.value
  },
  new("a turn of a caller that had to wait does not end", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    network.suspend()
    let first = Task { await network.run { await forever() } }
    await moment()
    network.resume()
    network.enqueue {}
    await first.value
  },
  stuck("a queue is drained whose task does not end", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    Task(on: network) { await forever() }
    try await network.drain()
  },
  new("a closed queue is drained whose closure does not end", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    network.enqueue { await forever() }
    network.close()
    try await network.drain(timeout: .seconds(3600))
  },
  new("a queue that is cancelled is drained", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    network.enqueue { await forever() }
    await started(network)
    network.cancelAll()
    try await network.drain()
  },
]

actor Room {
  func stay() { block() }
  func talk() async { await forever() }
}

let actors = [
  stuck("an actor is in a call of its own", "@room: its tasks have not come to it") {
    let target = Room()
    let room = ActorQueue(of: target, label: "room")
    Task { await target.stay() }
    await moment()
    room.enqueue { _ in }
    await forever()
  },
  new(
    "a task waits for an actor that is in a call",
    "@room: the task of what comes next does not begin"
  ) {
    let target = Room()
    let room = ActorQueue(of: target, label: "room")
    Task { await target.stay() }
    await moment()
    Task(on: room) { _ in }
    await forever()
  },
  stuck("an operation blocks its actor", "?@room: \(notEnded)") {
    let target = Room()
    let room = ActorQueue(of: target, label: "room")
    room.enqueue { _ in block() }
    room.enqueue { _ in }
    await forever()
  },
  stuck("an actor's operation is drained that does not go on", "?@room: \(notEnded)") {
    let target = Room()
    let room = ActorQueue(of: target, label: "room")
    room.enqueue { _ in await forever() }
    try await room.drain()
  },
  new(
    "an actor's task is drained that does not go on",
    "silent: what an actor's task does once it has begun, its queue's lane does not know"
  ) {
    let target = Room()
    let room = ActorQueue(of: target, label: "room")
    Task(on: room) { _ in await forever() }
    try await room.drain()
  },
  new("an actor's labelled operation is drained", "talk@room: \(notEnded)") {
    let target = Room()
    let room = ActorQueue(of: target, label: "room")
    room.enqueueTask(labelled("talk")) { await $0.talk() }
    try await room.drain()
  },
  stuck("a queue's actor is gone", "refused: has not accepted an operation") {
    let room = ActorQueue<Room>(label: "room")
    do {
      let target = Room()
      room.adoptExecutionContext(of: target)
    }
    room.enqueue { _ in }
  },
  new("a queue has no actor", "refused: has not accepted an operation") {
    ActorQueue<Room>(label: "room").enqueue { _ in }
  },
  stuck("the main thread is blocked", "@screen: its tasks have not come to it") {
    let screen = MainActorQueue(label: "screen")
    await MainActor.run {
      screen.enqueue {}
      block()
    }
  },
  new(
    "the main thread is blocked, and a task waits",
    "@MainActor.queue: the task of what comes next does not begin"
  ) {
    await MainActor.run {
      Task(on: MainActor.queue) {}
      block()
    }
  },
  new("the main thread waits for its own work", "@MainActor.queue: its tasks have not come to it") {
    await MainActor.run {
      let done = DispatchSemaphore(value: 0)
      MainActor.queue.enqueue { _ in done.signal() }
      done.wait()
    }
  },
  stuck("work on the main thread does not return", "?@screen: \(notEnded)") {
    let screen = MainActorQueue(label: "screen")
    screen.enqueue { block() }
    screen.enqueue {}
    await forever()
  },
]
