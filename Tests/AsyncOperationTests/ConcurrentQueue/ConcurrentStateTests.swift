import ConcurrentKVO
import TestSupport
import Testing

@testable import AsyncOperation

/// A concurrent queue's states, observed like any value.
@Suite(.watched) struct ConcurrentStateTests {
  @Test func `no more run than may, and progress ends at all of all`() async {
    let queue = ConcurrentQueue(maxConcurrent: 2)
    let running = Log<Int>()
    let observation = queue.states.runningCount.observe { running.add($0.new) }
    for _ in 0..<200 { queue.enqueue {} }
    let all = OperationProgress(completed: 200, total: 200)
    for await progress in queue.states.progress.values() where progress == all { break }
    queue.states.runningCount.drain()
    #expect(running.entries.max()! <= 2)
    #expect(running.entries.last == 0)
    #expect(queue.states.pendingCount.value == 0)
    withExtendedLifetime(observation) {}
  }

  @Test func `an operation's state and progress are told, change by change`() async {
    let stage = QueueStage()
    stage.queue.suspend()
    let held = stage.hold("work")
    let (state, progress) = (held.operation.observedState, held.operation.observedProgress)
    #expect(state === held.operation.observedState)
    let log = stage.log
    let observations = [
      state.observe { log.add("\($0.old!) > \($0.new)") },
      progress.observe { log.add("\($0.old!.completed) > \($0.new.completed)") },
    ]
    stage.queue.resume()
    #expect(await held.hasStarted())
    #expect(held.token.setProgress(completed: 1, total: 4))
    #expect(held.token.setProgress(completed: 4, total: 4))
    #expect(progress.value.fraction == 1)
    held.token.finish()
    #expect(await held.operation.endInTime() == "finished")
    #expect(
      log.entries == [
        "pending > running", "work", "0 > 1", "1 > 4", "running > ended",
      ])
    #expect(state.wait { $0 == .pending } == nil)
    withExtendedLifetime(observations) {}
  }

  /// Its user has no token.
  @Test func `an operation with a task is told as one whose task has not ended`() async throws {
    let queue = ConcurrentQueue(label: "network", maxConcurrent: 1)
    let (begun, gate) = (
      AsyncStream.makeStream(of: Void.self), AsyncStream.makeStream(of: Void.self)
    )
    let operation = queue.enqueueTask {
      begun.continuation.finish()
      for await _ in gate.stream {}
    }
    for await _ in begun.stream {}
    #expect(operation.why()?.message.contains("its task has not ended") == true)
    gate.continuation.finish()
    try await operation.value
  }

  @Test func `an operation that is tried again is pending again`() async {
    let stage = QueueStage()
    stage.queue.suspend()
    var options = OperationOptions()
    options.retry = Retry(maxAttempts: 2)
    let operation = stage.queue.enqueue(options) { $0.fail(Failure(number: 1)) }
    let log = stage.log
    let observation = operation.observedState.observe { log.add("\($0.new)") }
    stage.queue.resume()
    #expect(await operation.endInTime() == "failed(1)")
    #expect(operation.observedState.drain(timeout: .seconds(Limit.seconds)))
    #expect(log.entries == ["running", "pending", "running", "ended"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an operation that was refused has ended`() async {
    let stage = QueueStage()
    stage.queue.close()
    let operation = stage.note("never")
    #expect(operation.observedState.value == .ended)
    #expect(operation.observedState.wait { $0 == .running } == nil)
    #expect(operation.observedProgress.value == OperationProgress())
  }
}
