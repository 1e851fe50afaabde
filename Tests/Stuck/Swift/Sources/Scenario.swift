import Dispatch
import Foundation
import Inturn

/// A program that is stuck, and the expected diagnosis.
struct Scenario: Sendable {
  let name, expected, age: String
  let run: @Sendable () async throws -> Void
}

/// A scenario: its name, which is a sentence, the expected diagnosis, and the stuck code.
func stuck(
  _ name: String, _ expected: String, _ run: @escaping @Sendable () async throws -> Void
) -> Scenario {
  Scenario(name: name, expected: expected, age: "", run: run)
}

/// The same for a kind of stall that was not thought of before.
func new(
  _ name: String, _ expected: String, _ run: @escaping @Sendable () async throws -> Void
) -> Scenario {
  Scenario(name: name, expected: expected, age: "new", run: run)
}

let notEnded = "its task has not ended"
let notFinished = "its call has returned, its token has not been finished"
let inCall = "its call has not returned"
let refused = "refused: a wait was refused because it could never end"

/// Keeps objects alive.
final class Kept: @unchecked Sendable {
  // Safe to share: `lock` protects the rest.
  private let lock = NSLock()
  private var things: [Any] = []

  func keep(_ thing: Any) { lock.withLock { things.append(thing) } }
}

let kept = Kept()

/// Waits for ever, cancelled or not.
func forever() async {
  await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
}

/// Blocks its thread.
func block() { DispatchSemaphore(value: 0).wait() }

/// Waits until this many of the queue's operations run.
func started(_ queue: some WorkQueue, _ count: Int = 1) async {
  while queue.statistics.running < count { await Task.yield() }
}

/// Lets something happen that cannot be observed.
func moment() async { try? await Task.sleep(for: .milliseconds(50)) }

func labelled(
  _ label: String, _ change: (inout OperationOptions) -> Void = { _ in }
) -> OperationOptions {
  .with {
    $0.label = label
    change(&$0)
  }
}
