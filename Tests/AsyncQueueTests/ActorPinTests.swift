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
    let core = QueueCore(.fifo, label: nil, capacity: nil, clock: nil)
    // Nothing is done with it.
    let turn = OutsideExecutor.Turn(lane: Lane.Pointer(bitPattern: 64)!)
    #expect(!pin.start(DrainSession(core, PlainPriority(tag: 0)), turn))
    core.release()
  }
}
