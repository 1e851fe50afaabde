import AsyncQueue
import InturnCore
import TestSupport
import Testing

/// Waiting until a queue has done what it had, and asking what is left.
@Suite(.watched) struct QuietTests {
  @Test func `a wait for a queue that is gone by then ends`() async {
    let none = Handle(bits: 0)
    let (status, lane) = Engine.createQueue(
      QueueOptions(kind: .fifo), executor: none, clock: none)
    #expect(status == .ok)
    #expect(Engine.destroy(queue: lane) == .ok)
    #expect(await QuietWaits().wait(for: lane, within: .seconds(30), of: nil))
  }
}
