// Each Swift module does a little in order: three things that take their time, one after the other.

import AsyncOperation
import AsyncQueue
import AsyncTaskPerformer
import ConcurrentKVO
import Foundation
import InteractionQueue

/// A network that answers later, on a thread of its own.
let network = DispatchQueue(label: "network")

func saveInOrder() async {
  let saves = FIFOQueue(label: "saves")
  for number in 1...3 {
    saves.enqueue {
      await Task.yield()
      print("AsyncQueue: save \(number)")
    }
  }
  await saves.run {}
}

func downloadInOrder() {
  let downloads = OperationQueue()
  downloads.maxConcurrentOperationCount = 1
  for number in 1...3 {
    downloads.addOperation(
      AsyncBlockOperation { markOperationAsFinished in
        network.async {
          print("AsyncOperation: download \(number)")
          markOperationAsFinished()
        }
      })
  }
  downloads.waitUntilAllOperationsAreFinished()
}

struct Step: AsyncTask {
  let number: Int

  func execute(completion: @escaping () -> Void) {
    print("AsyncTaskPerformer: step \(number)")
    completion()
  }
}

func performInOrder() async {
  let group = SynchronousDispatchGroup(systemQueue: DispatchQueue(label: "steps"))
  await withCheckedContinuation { continuation in
    group.executeTasks((1...3).map(Step.init)) { continuation.resume() }
  }
}

func observeInOrder() {
  let temperature = ConcurrentKVO(18)
  let observation = temperature.observe { change in
    print("ConcurrentKVO: \(change.old!) to \(change.new)")
  }
  for _ in 1...3 { temperature.value += 1 }
  withExtendedLifetime(observation) {}
}

func askInOrder() async throws {
  let dialogs = InteractionQueue(settleDelay: .zero, gap: .zero)
  dialogs.onViewDidAppear()
  for number in 1...3 {
    try await dialogs.present { print("InteractionQueue: question \(number)") }
  }
}

await saveInOrder()
downloadInOrder()
await performInOrder()
observeInOrder()
try await askInOrder()
