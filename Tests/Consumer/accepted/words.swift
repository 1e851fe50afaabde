// What programs write with the words that all modules share. Each module brings them along.
import AsyncOperation
import AsyncQueue
import AsyncTaskPerformer
import InteractionQueue

// A subclass says again what Foundation says of its operations, as the compiler asks.
class Upload: AsyncOperation, @unchecked Sendable {
  override func main() { finish() }
}

final class Removal: AsyncOperationWithCompletion<Int>, @unchecked Sendable {
  override func main() {
    completion?(1, nil)
    finish()
  }
}

// A protocol of a program's own, which queues have without more ado.
protocol Enqueuing { func enqueue(_ work: @escaping @Sendable () async -> Void) }
extension FIFOQueue: Enqueuing {}

protocol Performing { func enqueue(_ work: @escaping @Sendable () -> Void) }
extension ConcurrentQueue: Performing {}

// A queue's method as a function.
func passOn() {
  let save = FIFOQueue().enqueue
  save { await Task.yield() }
  let update = MainActorQueue.shared.enqueue
  update { MainActor.assertIsolated() }
  let measure = ConcurrentQueue().enqueue
  measure {}
}

// What every queue can, whichever it is.
func stop(_ queues: [any WorkQueue]) async throws -> [OperationInfo] {
  var left: [OperationInfo] = []
  for queue in queues {
    queue.suspend(for: "the end")
    queue.cancelAll()
    queue.resume(for: "the end")
    queue.close()
    left += try await queue.drain(timeout: .seconds(5))
    print(queue.label ?? "unnamed", queue.statistics.cancelled, queue.list(atMost: 3))
  }
  return left
}

func useAll(_ clock: ManualClock) async throws {
  let queues: [any WorkQueue] = [
    FIFOQueue(label: "fifo", capacity: 3, clock: clock), FIFOQueue(name: "as before"),
    ActorQueue<MainActor>(label: "actor", clock: clock),
    MainActorQueue(label: "main", clock: clock),
    ConcurrentQueue(label: "concurrent", maxConcurrent: 2, clock: clock),
    InteractionQueue(label: "interactions", clock: clock),
  ]
  _ = try await stop(queues)
}

// One end for all operations, of a queue's and of Foundation's.
func tell(_ operation: QueuedOperation, _ upload: Upload) async {
  for end in [await operation.waitForEnd(), await upload.waitForEnd()] {
    switch end {
    case .finished, .skipped, .resolved: print("done")
    case .cancelled(.owner): print("its owner has gone")
    default: print(end, end.error as Any)
    }
  }
}
