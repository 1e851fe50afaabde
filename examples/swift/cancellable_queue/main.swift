// A search field: each letter starts a search.
//
//     swift run --package-path examples/swift cancellable_queue
//
// What to look at: a letter makes the searches before it pointless, and cancels them.

import AsyncQueue

final class Search: Sendable {
  private let queue = CancellableQueue(underlyingQueue: FIFOQueue(label: "search"))

  /// Cancels the searches so far, running and pending ones, and starts another one.
  func start(_ text: String) -> Task<String, any Error> {
    queue.cancelTasks()
    return Task(name: text, on: queue) {
      // Stands for asking a server. It throws when the task is cancelled.
      try await Task.sleep(for: .seconds(1))
      return "results for \(text)"
    }
  }
}

let search = Search()
let searches = ["s", "sw", "swi", "swift"].map { search.start($0) }
for search in searches {
  switch await search.result {
  case .success(let results): print(results)
  case .failure(let error): print(error is CancellationError ? "cancelled" : "failed: \(error)")
  }
}
