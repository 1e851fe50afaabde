import AsyncTaskPerformer
import Foundation
import TestSupport
import Testing

/// Members that are not ready when their list is executed.
extension SynchronousOperationQueueTests {
  /// Ready when the test says so.
  private final class Late: AsyncOperationWithCompletion<Int>, @unchecked Sendable {
    // Safe to share: neither changes.
    let mayStart = Protected(false)
    let log: Log<Int>

    init(_ log: Log<Int>) {
      self.log = log
      super.init()
    }

    override var isReady: Bool { super.isReady && mayStart.withLock { $0 } }

    override func main() {
      log.add(1)
      completion?(1, nil)
      finish()
    }

    func becomeReady() {
      willChangeValue(forKey: "isReady")
      mayStart.withLock { $0 = true }
      didChangeValue(forKey: "isReady")
    }
  }

  @Test func `a member that is not ready for a reason of its own holds up those after it`() async {
    let queue = make()
    let (log, completions) = (Log<Int>(), Completions())
    let late = Late(log)
    let next = Member { member in
      log.add(2)
      member.report(2)
    }
    queue.executeOperations([late, next]) { completions.add($0, $1) }
    // Of what is ready, the queue starts first what was added first.
    let other = Signal()
    queue.addOperation { other.raise() }
    #expect(await other.wait())
    late.becomeReady()
    #expect(await completions.all(queue) == ["2"])
    #expect(log.entries == [1, 2])
  }

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
