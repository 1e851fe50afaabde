import TestSupport
import Testing

@testable import AsyncQueue
@testable import InturnCore

/// An actor queue whose actor is released.
@Suite(.watched) struct ActorPinTests {
  private actor Account {
    let tracked: Tracked?
    init(_ alive: Counter? = nil) { tracked = alive.map { Tracked($0) } }
    func touch() {}
  }

  @Test(arguments: ["task", "task that may throw", "operation", "cancelled operation"])
  func `an actor is let go of when others have followed its closures`(kind: String) async throws {
    let alive = Counter()
    let queue = ActorQueue<Account>()
    @Sendable func use() {
      let account = Account(alive)
      queue.adoptExecutionContext(of: account)
      queue.suspend()
      queue.enqueue { $0.touch() }
      switch kind {
      case "task": Task(on: queue) { $0.touch() }
      case "task that may throw": Task(on: queue) { account async throws in account.touch() }
      case "operation": queue.enqueueTask { $0.touch() }
      default: queue.enqueueTask { $0.touch() }.cancel()
      }
    }
    // Without task-local values, as with them all work has tasks.
    try await Caller.withoutTaskLocals.call { use() }
    #expect(alive.value == 1)
    queue.resume()
    await queue.drained()
    await eventually("the actor is gone") { alive.value == 0 }
    withExtendedLifetime(queue) {}
  }

  @Test func `an actor is let go of after a refusal`() async throws {
    let alive = Counter()
    let queue = ActorQueue<Account>()
    @Sendable func use() throws {
      let account = Account(alive)
      queue.adoptExecutionContext(of: account)
      queue.close()
      #expect(throws: QueueError.closed) { try queue.tryEnqueue { $0.touch() } }
      #expect(alive.value == 1)
    }
    try await Caller.withoutTaskLocals.call { try use() }
    #expect(alive.value == 0)
    #expect(throws: QueueError.noActor) { try queue.tryEnqueue { $0.touch() } }
  }

  @Test func `no session starts on an actor that is gone`() {
    let pin = ActorPin<Account>()
    #expect(pin.adopt(Account()))
    #expect(pin.actor == nil)
    let core = QueueCore(.fifo, label: nil, capacity: nil, clock: nil)
    // A turn that is not used.
    let turn = OutsideExecutor.Turn(lane: Lane.Pointer(bitPattern: 64)!)
    #expect(!pin.start(DrainSession(core, tag: 0, nil), turn))
    core.release()
  }
}
