import AsyncQueue
import Dispatch
import Foundation
import Inturn

let notStarted = [
  stuck("a suspended queue is drained", "@uploads: it is suspended") {
    let uploads = FIFOQueue(label: "uploads")
    uploads.suspend()
    uploads.enqueue {}
    try await uploads.drain()
  },
  stuck("a queue is resumed for another reason", "@uploads: it is suspended for \"offline\"") {
    let uploads = FIFOQueue(label: "uploads")
    uploads.suspend(for: "busy")
    uploads.suspend(for: "offline")
    uploads.resume(for: "busy")
    Task(on: uploads) {}
    try await uploads.drain()
  },
  stuck("a turn of a suspended queue is awaited", "@uploads: it is suspended") {
    let uploads = FIFOQueue(label: "uploads")
    uploads.suspend()
    await uploads.run {}
  },
  stuck("a value of a suspended queue is awaited", "@uploads: it is suspended") {
    let uploads = FIFOQueue(label: "uploads")
    uploads.suspend()
    try await uploads.enqueueTask {}.value
  },
  stuck("an actor's suspended queue is drained", "@room: it is suspended") {
    let target = Room()
    let room = ActorQueue(of: target, label: "room")
    room.suspend()
    room.enqueue { _ in }
    try await room.drain()
  },
  stuck(
    "a clock stands still", "@paced: its manual clock has not reached its next start"
  ) {
    let paced = FIFOQueue(label: "paced", clock: ManualClock())
    paced.setRate(maxStarts: 1, interval: .seconds(1))
    paced.enqueue {}
    paced.enqueue {}
    try await paced.drain()
  },
  new("a rate lets nothing start", "@paced: it starts nothing for another TIME") {
    let paced = FIFOQueue(label: "paced")
    paced.setRate(maxStarts: 1, interval: .seconds(3600))
    paced.enqueue {}
    paced.enqueue {}
    try await paced.drain()
  },
  new("the next attempt is far away", "load@network: its next attempt begins in TIME") {
    let network = FIFOQueue(label: "network")
    network.enqueueTask(labelled("load") { $0.retry = Retry(delay: .seconds(3600)) }) {
      throw CocoaError(.userCancelled)
    }
    try await network.drain()
  },
  new("semaphores block all threads", "@network: its tasks have not come to it") {
    for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { Task.detached { block() } }
    let network = FIFOQueue(label: "network")
    network.enqueue {}
    try await network.drain()
  },
  new(
    "semaphores block all threads, and a task waits",
    "@network: the task of what comes next does not begin"
  ) {
    for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { Task.detached { block() } }
    let network = FIFOQueue(label: "network")
    network.enqueueTask(labelled("load")) {}
    try await network.drain()
  },
]

let waits = [
  stuck("a queue is drained in its own operation", refused) {
    let steps = FIFOQueue(label: "steps")
    _ = try await Task(on: steps) { try await steps.drain() }.value
  },
  stuck("an operation waits for its own queue's next turn", refused) {
    let steps = FIFOQueue(label: "steps")
    try await Task(on: steps) { try await steps.run { try Task.checkCancellation() } }.value
  },
  stuck("an operation awaits a later task", refused) {
    let steps = FIFOQueue(label: "steps")
    try await Task(on: steps) {
      try await Task(on: steps) { try Task.checkCancellation() }.value
    }.value
  },
  stuck("two queues wait for each other", refused) {
    let left = FIFOQueue(label: "left")
    let right = FIFOQueue(label: "right")
    try await left.run {
      try await right.run { try await left.run { try Task.checkCancellation() } }
    }
  },
  stuck("two queues wait for each other's tasks", refused) {
    let left = FIFOQueue(label: "left")
    let right = FIFOQueue(label: "right")
    try await Task(on: left) {
      try await Task(on: right) {
        try await Task(on: left) { try Task.checkCancellation() }.value
      }.value
    }.value
  },
  new("a child task waits for the queue that it is in", refused) {
    let steps = FIFOQueue(label: "steps")
    try await steps.run {
      async let next: Void = steps.run { try Task.checkCancellation() }
      try await next
    }
  },
  new(
    "a task between them waits for the queue",
    "@left: the body that its caller runs has not returned"
  ) {
    let left = FIFOQueue(label: "left")
    await left.run { await Task { await left.run {} }.value }
  },
  new("a task of the queue waits for it by another task", "?@left: \(notEnded)") {
    let left = FIFOQueue(label: "left")
    await Task(on: left) { await Task { await left.run {} }.value }.value
  },
  new("two queues wait for each other by other tasks", "?@left: \(notEnded)") {
    let left = FIFOQueue(label: "left")
    let right = FIFOQueue(label: "right")
    await Task(on: left) {
      await Task { await right.run { await Task { await left.run {} }.value } }.value
    }.value
  },
  new("a thread waits for the queue that it blocks", "?@left: \(notEnded)") {
    let left = FIFOQueue(label: "left")
    left.enqueue {
      let done = DispatchSemaphore(value: 0)
      left.enqueue { done.signal() }
      func wait() { done.wait() }
      wait()
    }
    await forever()
  },
  stuck("there is no room for the next one", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network", capacity: 1)
    Task(on: network) { await forever() }
    await started(network)
    network.enqueue {}
    try await network.enqueueWhenRoom {}
  },
  new("a caller waits for room", "?@network: \(notEnded)") {
    let network = FIFOQueue(label: "network", capacity: 1)
    Task(on: network) { await forever() }
    await started(network)
    network.enqueue {}
    try await network.run { try Task.checkCancellation() }
  },
  stuck("one comes after an endless one", "save@database > load@network: \(notEnded)") {
    let network = FIFOQueue(label: "network")
    let database = FIFOQueue(label: "database")
    let load = network.enqueueTask(labelled("load")) { await forever() }
    let save = database.enqueueTask(labelled("save") { $0.after = [load] }) {}
    try await save.value
  },
  stuck("a name is held elsewhere", "copy@albums > write@photos: \(notEnded)") {
    let photos = FIFOQueue(label: "photos")
    let albums = FIFOQueue(label: "albums")
    photos.enqueueTask(labelled("write") { $0.exclusive = ["disk"] }) { await forever() }
    await started(photos)
    try await albums.enqueueTask(labelled("copy") { $0.exclusive = ["disk"] }) {}.value
  },
]
