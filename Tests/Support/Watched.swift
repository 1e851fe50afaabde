import Dispatch
import Foundation
import Testing

/// Ends the run when a test takes longer than any of its waits may: a test that hangs would block all
/// others, and nothing would show which one it was.
package struct Watched: TestTrait, SuiteTrait, TestScoping {
  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let hasEnded = DispatchSemaphore(value: 0)
    // A separate thread, as the pools' threads may be the ones that hang.
    Thread.detachNewThread {
      if hasEnded.wait(timeout: .now() + .seconds(Limit.seconds + 30)) == .success { return }
      fatalError("The test \"\(test.name)\" hangs, \(test.sourceLocation)")
    }
    defer { hasEnded.signal() }
    try await function()
  }
}

extension Trait where Self == Watched {
  /// Each test ends within the limit, or the run ends with the test's name and the threads' stacks.
  package static var watched: Watched { Watched() }
}
