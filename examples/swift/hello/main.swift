// Three tasks, one after another, and a single completion.
//
//     swift run --package-path examples/swift hello
//
// What to look at: a task is over when it calls its completion, and then the next one begins.

import AsyncTaskPerformer
import Foundation

struct SayHelloTask: AsyncTask {

  let id: Int

  func execute(completion: @escaping () -> Void) {
    print("Hello World \(id)")
    completion()
  }

}

let tasks: [AsyncTask] = [SayHelloTask(id: 1), SayHelloTask(id: 2), SayHelloTask(id: 3)]
let synchronousDispatchGroup = SynchronousDispatchGroup()

synchronousDispatchGroup.executeTasks(tasks) {
  print("Goodbye")
  exit(EXIT_SUCCESS)
}

// The tasks are executed on the main queue, which an app's main loop drains.
dispatchMain()
