// Three tasks, one after the other, and a single completion.

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
