import AsyncQueue
import TestSupport
import Testing

/// After how long what is stuck is reported.
@Suite(.watched, .serialized) struct StallLimitTests {
  private let files = FIFOQueue(name: "files")
  private let network = FIFOQueue(name: "network")
  private let end = Signal()

  init() { Reports.begin() }

  private func block(_ queue: FIFOQueue) -> Task<Void, Never> {
    let end = end
    queue.enqueue { _ = await end.wait() }
    return Task(on: queue) {}
  }

  /// Both are stuck, and only the network's queue is told.
  private func expectNetworkAlone() async {
    let tasks = [block(files), block(network)]
    _ = await Reports.told("\"network\"")
    #expect(Reports.about("\"files\"").isEmpty)
    end.raise()
    for task in tasks { await task.value }
    Report.setStallLimit(.zero)
  }

  @Test func `a queue is told though others are not`() async {
    Report.setStallLimit(nil)
    network.setStallLimit(.milliseconds(20))
    await expectNetworkAlone()
  }

  @Test func `a queue that is stuck already is told once it has a limit`() async {
    Report.setStallLimit(nil)
    let task = block(network)
    network.setStallLimit(.milliseconds(20))
    _ = await Reports.told("\"network\"")
    end.raise()
    await task.value
    Report.setStallLimit(.zero)
  }

  @Test func `a queue is never told`() async {
    Report.setStallLimit(.milliseconds(20))
    files.setStallLimit(nil)
    await expectNetworkAlone()
  }

  @Test func `a queue goes back to the limit of all`() async {
    Report.setStallLimit(.milliseconds(20))
    files.setStallLimit(nil)
    network.setStallLimit(nil)
    network.setStallLimit(.zero)
    await expectNetworkAlone()
  }

  @Test func `a limit is not negative`() async {
    await #expect(processExitsWith: .failure) { Report.setStallLimit(.seconds(-1)) }
    await #expect(processExitsWith: .failure) { FIFOQueue().setStallLimit(.seconds(-1)) }
  }
}
