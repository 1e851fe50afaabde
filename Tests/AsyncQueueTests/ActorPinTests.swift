import TestSupport
import Testing

@testable import AsyncQueue
@testable import InturnCore

/// An actor queue whose actor goes away.
@Suite(.watched) struct ActorPinTests {
  private actor Account { func touch() {} }

  @Test func `no session starts on an actor that is gone`() {
    let pin = ActorPin<Account>()
    #expect(pin.adopt(Account()))
    #expect(pin.actor == nil)
    let core = QueueCore(.fifo, name: nil, capacity: nil, clock: .system)
    // Nothing is done with it.
    let turn = OutsideExecutor.Turn(lane: Lane.Pointer(bitPattern: 64)!)
    #expect(!pin.start(DrainSession(core, PlainPriority(tag: 0)), turn))
    core.release()
  }

  @Test func `a resume may meet the cancel that lets go of the actor`() async {
    for round in 0..<3_000 {
      let queue = ActorQueue<Account>()
      func adopt() {
        let account = Account()
        queue.adoptExecutionContext(of: account)
        queue.suspend()
        queue.enqueue { $0.touch() }
      }
      adopt()
      let mayGo = Counter()
      let hasCancelled = Gate()
      Threads.run {
        while mayGo.value == 0 {}
        queue.cancelAll()
        hasCancelled.open()
      }
      mayGo.add()
      for _ in 0..<(round % 100) { _ = mayGo.value }
      queue.resume()
      await queue.drain()
      await hasCancelled.wait(for: "the cancel")
    }
  }
}
