// Three pages are downloaded, two at a time, and joined when all are there.
//
//     swift run --package-path examples/swift downloads
//
// What to look at: these are operations of Foundation's `OperationQueue`. A fourth download loses its
// callback, a fifth one is cancelled: the queue continues, and reports how each has ended.

import AsyncOperation
import Foundation

/// A network that answers later, on a thread of its own.
let network = DispatchQueue(label: "network")

func fetch(_ page: String, answer: @escaping @Sendable (String) -> Void) {
  network.async { answer("<\(page)>") }
}

Report.setHandler { report in
  // The report names the place; the line number does not matter here.
  print("Reported: a callback was lost in main.swift: \(report.message.contains("main.swift"))")
}

let queue = OperationQueue()
queue.maxConcurrentOperationCount = 2

let pages = ["one", "two", "three"].map { page in
  let download = AsyncResultOperation<String, any Error> { finish in
    fetch(page) { finish(.success($0)) }
  }
  download.name = page
  return download
}

let join = AsyncResultOperation<String, any Error> {
  try pages.map { try $0.get() }.joined(separator: " ")
}
for page in pages { join.addDependency(page) }

let lost = AsyncBlockOperation { markOperationAsFinished in
  // The callback is released here, uncalled.
  _ = markOperationAsFinished
}
lost.name = "lost"
lost.addDependency(join)

let slow = AsyncBlockOperation { try await Task.sleep(for: .seconds(3_600)) }
slow.name = "slow"
slow.addDependency(lost)

let started = slow.observedState.observe { change in
  // State changes can be observed on every system.
  if change.new == .running { slow.cancel() }
}

for operation in pages + [join, lost, slow] { queue.addOperation(operation) }
queue.waitUntilAllOperationsAreFinished()
started.cancel()

print("Joined: \(try join.get())")
for operation in pages + [lost, slow] {
  print("\(operation.name!): \(operation.end!)")
}
