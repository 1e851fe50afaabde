import AsyncTaskPerformer
import Foundation
import TestSupport
import Testing

/// Members that are not ready when their list is executed.
extension SynchronousOperationQueueTests {
  @Test func `a list with a dependency takes time that grows as its length`() async {
    func time(_ count: Int) async -> Duration {
      let (queue, completions) = (make(), Completions())
      let (members, other) = ((0..<count).map { _ in Member { $0.report(1) } }, AsyncOperation())
      members[0].addDependency(other)
      return await ContinuousClock().measure {
        queue.executeOperations(members) { completions.add($0, $1) }
        other.start()
        other.finish()
        #expect(await completions.signal.wait())
      }
    }
    var (few, many) = (Duration.seconds(100), Duration.seconds(100))
    for _ in 0..<3 {
      few = min(few, await time(1_000))
      many = min(many, await time(8_000))
    }
    // In proportion, 8 times as long; if Foundation looked at all of them at each end, 64 times.
    #expect(many < few * 32)
  }
}
