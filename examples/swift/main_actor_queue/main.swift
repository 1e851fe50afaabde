// A progress line that belongs to the main actor, and a worker thread that reports to it.
//
//     swift run --package-path examples/swift main_actor_queue
//
// What to look at: the reports are made by synchronous code and arrive in order, which separate tasks
// would not.

import AsyncQueue
import Dispatch

@MainActor
final class ProgressLine {
  private var last = 0

  nonisolated init() {}

  func show(_ percent: Int) {
    precondition(percent > last, "progress never goes back")
    last = percent
    print("\(percent) %")
  }
}

let line = ProgressLine()
DispatchQueue.global().async {
  for percent in stride(from: 20, through: 100, by: 20) {
    MainActorQueue.shared.enqueue { line.show(percent) }
  }
  MainActorQueue.shared.enqueue { print("done") }
}

// The same queue for tasks, which return values and can be cancelled.
let answer = await Task(on: MainActor.queue) { 6 * 7 }.value
precondition(answer == 42)
while MainActorQueue.shared.statistics.finished < 6 { await Task.yield() }
