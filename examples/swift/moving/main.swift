// The same uploads as they were before, and with a queue.
//
//     swift run --package-path examples/swift moving
//
// What to look at: the first upload takes longest, and still all arrive in order.

import AsyncOperation
import AsyncQueue
import ConcurrentKVO
import Foundation

/// Stands for a server: it answers later, on a thread of its own.
let server = DispatchQueue(label: "server", attributes: .concurrent)

func upload(_ photo: Int, answer: @escaping @Sendable () -> Void) {
  server.asyncAfter(deadline: .now() + .milliseconds(60 / photo)) {
    arrivals.value.append(" \(photo)")
    answer()
  }
}

/// The same for async functions.
func upload(_ photo: Int) async {
  await withCheckedContinuation { done in upload(photo) { done.resume() } }
}

let arrivals = RWLockedValue("")

func report(_ what: String) {
  print(what + arrivals.value)
  arrivals.value = ""
}

// MARK: DispatchQueue

func dispatchBefore() {
  let queue = DispatchQueue(label: "uploads")
  for photo in 1...3 {
    queue.async {
      let answered = DispatchSemaphore(value: 0)
      upload(photo) { answered.signal() }
      answered.wait()  // the thread can do nothing else meanwhile
    }
  }
  queue.sync {}
}

func dispatchAfter() async throws {
  let queue = ConcurrentQueue(label: "uploads", maxConcurrent: 1)
  for photo in 1...3 {
    queue.enqueue { token in
      upload(photo) { token.finish() }
    }
  }
  try await queue.drain()
}

// MARK: OperationQueue

final class Upload: Operation, @unchecked Sendable {
  private let photo: Int
  private let state = RWLockedValue((isExecuting: false, isFinished: false))

  init(photo: Int) { self.photo = photo }

  override var isAsynchronous: Bool { true }
  override var isExecuting: Bool { state.value.isExecuting }
  override var isFinished: Bool { state.value.isFinished }

  override func start() {
    set(isExecuting: true, isFinished: false)
    upload(photo) { self.set(isExecuting: false, isFinished: true) }
  }

  private func set(isExecuting: Bool, isFinished: Bool) {
    willChangeValue(for: \.isExecuting)
    willChangeValue(for: \.isFinished)
    state.value = (isExecuting, isFinished)
    didChangeValue(for: \.isFinished)
    didChangeValue(for: \.isExecuting)
  }
}

func operationsBefore() {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  for photo in 1...3 { queue.addOperation(Upload(photo: photo)) }
  queue.waitUntilAllOperationsAreFinished()
}

func operationsAfter() {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 1
  for photo in 1...3 {
    queue.addOperation(AsyncBlockOperation { finish in upload(photo) { finish() } })
  }
  queue.waitUntilAllOperationsAreFinished()
}

// MARK: swift-async-queue

func asyncQueueBefore() async {
  let queue = FIFOQueue()
  for photo in 1...3 {
    Task(on: queue) { await upload(photo) }
  }
  await Task(on: queue) {}.value
}

func asyncQueueAfter() async {
  let queue = FIFOQueue()
  for photo in 1...3 {
    queue.enqueue { await upload(photo) }
  }
  await queue.run {}
}

dispatchBefore()
report("a dispatch queue:   ")
try await dispatchAfter()
report("  a queue:          ")
operationsBefore()
report("an operation queue: ")
operationsAfter()
report("  its operations:   ")
await asyncQueueBefore()
report("swift-async-queue:  ")
await asyncQueueAfter()
report("  the same queue:   ")
