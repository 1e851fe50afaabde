import AsyncOperation
import AsyncQueue
import AsyncTaskPerformer
import Foundation
import InteractionQueue
import Inturn

/// A queue whose view is visible, and that starts without delay.
@Sendable private func visible() -> InteractionQueue {
  let dialogs = InteractionQueue(label: "dialogs", settleDelay: .zero, gap: .zero)
  dialogs.onViewDidAppear()
  return dialogs
}

let interactions = [
  stuck("a view never appears", "@dialogs: its view has not appeared") {
    let dialogs = InteractionQueue(label: "dialogs")
    dialogs.add { $0() }
    try await dialogs.drain()
  },
  stuck("a view is hidden", "@dialogs: its view is hidden") {
    let dialogs = visible()
    dialogs.onViewWillDisappear()
    dialogs.add { $0() }
    try await dialogs.drain()
  },
  stuck("a presentation of a hidden view is awaited", "@dialogs: its view has not appeared") {
    let dialogs = InteractionQueue(label: "dialogs")
    try await dialogs.present {}
  },
  stuck("a question has no answer", "question@dialogs: \(notFinished)") {
    let dialogs = visible()
    dialogs.enqueue(labelled("question")) { kept.keep($0) }
    dialogs.add { $0() }
    try await dialogs.drain()
  },
  stuck("a callback is kept", "?@dialogs: \(notFinished)") {
    let dialogs = visible()
    dialogs.add { kept.keep($0) }
    try await dialogs.drain()
  },
  stuck("a callback is lost", "refused: was abandoned: its token was lost unfinished") {
    let dialogs = visible()
    dialogs.add { _ in }
    try await dialogs.drain()
  },
  stuck(
    "the main thread is blocked, and a dialog is next",
    "@dialogs: nobody is draining its executor \"main\""
  ) {
    let dialogs = visible()
    Task.detached { try await dialogs.drain() }
    await MainActor.run {
      dialogs.add { $0() }
      block()
    }
  },
  new("a presentation presents another one", refused) {
    let dialogs = visible()
    try await dialogs.present { try await dialogs.present {} }
  },
  new(
    "a delay of a clock that stands still",
    "@dialogs: its manual clock has not reached its next start"
  ) {
    let dialogs = InteractionQueue(label: "dialogs", clock: ManualClock())
    dialogs.onViewDidAppear()
    dialogs.add { $0() }
    try await dialogs.drain()
  },
]

let concurrent = [
  stuck("a token is kept", "load@network: \(notFinished)") {
    let network = ConcurrentQueue(label: "network")
    network.enqueue(labelled("load")) { kept.keep($0) }
    try await network.drain()
  },
  stuck("a token is lost", "refused: was abandoned: its token was lost unfinished") {
    let network = ConcurrentQueue(label: "network")
    network.enqueue(labelled("load")) { _ in }
    try await network.drain()
  },
  stuck("a token is in a ring of objects", "load@network: \(notFinished)") {
    final class Node: @unchecked Sendable {
      // Never used by two threads.
      var next: Node?
      var token: FinishToken?
    }
    let network = ConcurrentQueue(label: "network", maxConcurrent: 1)
    network.enqueue(labelled("load")) {
      let node = Node()
      node.next = node
      node.token = $0
    }
    network.enqueue { () in }
    await forever()
  },
  stuck("a call does not return", "?@slow: \(inCall)") {
    let slow = ConcurrentQueue(label: "slow", maxConcurrent: 1)
    slow.enqueue { () in block() }
    slow.enqueue { () in }
    await forever()
  },
  stuck("all places are taken", "first@network: \(notEnded)") {
    let network = ConcurrentQueue(label: "network", maxConcurrent: 2)
    network.enqueueTask(labelled("first")) { await forever() }
    network.enqueueTask(labelled("second")) { await forever() }
    try await network.run {}
  },
  stuck("a barrier waits for one before it", "read@files: \(notFinished)") {
    let files = ConcurrentQueue(label: "files")
    files.enqueue(labelled("read")) { kept.keep($0) }
    try await files.run(labelled("sync") { $0.isBarrier = true }) {}
  },
  stuck("the last place waits for its queue", refused) {
    let pages = ConcurrentQueue(label: "pages", maxConcurrent: 1)
    try await pages.run { try await pages.run {} }
  },
  new("a batch waits for one part", "part@uploads: \(notFinished)") {
    let uploads = ConcurrentQueue(label: "uploads", maxConcurrent: 1)
    let part = uploads.enqueue(labelled("part")) { kept.keep($0) }
    try await Batch.all([part, uploads.enqueue { $0.finish() }]).waitForEnd()
  },
  new("a condition does not return", "ask@uploads: \(inCall)") {
    let uploads = ConcurrentQueue(label: "uploads")
    uploads.enqueue(
      labelled("ask") {
        $0.condition = {
          block()
          return nil
        }
      }
    ) { $0.finish() }
    try await uploads.drain()
  },
  new("a joined operation is drained", "again@network > load@network: \(notFinished)") {
    let network = ConcurrentQueue(label: "network")
    func options(_ label: String) -> OperationOptions {
      labelled(label) { ($0.key, $0.joins) = ("photo", true) }
    }
    network.enqueue(options("load")) { kept.keep($0) }
    network.enqueue(options("again")) { $0.finish() }
    try await network.drain()
  },
]

private struct Step: AsyncTask {
  func execute(completion: @escaping @Sendable () -> Void) { kept.keep(completion) }
}

private final class Silent: AsyncOperationWithCompletion<Int>, @unchecked Sendable {
  // Safe to share: nothing is added.
  override func main() {}
}

private struct Forgetful: AsyncTask {
  func execute(completion: @escaping @Sendable () -> Void) {}
}

private let foundation = "silent: what Foundation's queues do, the library does not know"

let operations = [
  stuck("a list's task does not call its completion", "?@SynchronousDispatchGroup: \(notFinished)")
  {
    await SynchronousDispatchGroup().executeTasks([Step(), Step()])
  },
  new("a list's task forgets its completion", "refused: its completion was lost uncalled") {
    await SynchronousDispatchGroup().executeTasks([Forgetful(), Step()])
  },
  stuck("an operation of Foundation's queue loses its token", "refused: abandoned") {
    let queue = OperationQueue()
    queue.addOperation(AsyncBlockOperation { _ in })
    await forever()
  },
  stuck("an operation of Foundation's queue does not end", foundation) {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    queue.addOperation(AsyncBlockOperation { kept.keep($0) })
    queue.addOperation(AsyncBlockOperation { $0() })
    await forever()
  },
  stuck("operations depend on each other in a ring", "refused: depend") {
    let first = AsyncBlockOperation { $0() }
    let second = AsyncBlockOperation { $0() }
    first.addDependency(second)
    second.addDependency(first)
    let queue = OperationQueue()
    for operation in [first, second] { queue.addOperation(operation) }
    await forever()
  },
  stuck("a list's operation does not report", foundation) {
    let queue = SynchronousOperationQueue(defaultValue: 0)
    _ = try await queue.execute([Silent()])
  },
]
