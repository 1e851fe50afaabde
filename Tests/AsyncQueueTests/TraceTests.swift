import AsyncQueue
import Dispatch
import TestSupport
import Testing

import struct TestSupport.SeededGenerator

/// The same script on the system's serial queue and on ours: the same trace.
@Suite(.watched) struct TraceTests {
  private enum Step { case enqueue(Int), suspend, resume, enqueueInside(Int) }

  private static func script(_ seed: UInt64) -> [Step] {
    var random = SeededGenerator(seed: seed)
    var suspends = 0
    var steps: [Step] = []
    for number in 0..<500 {
      switch random.next() % 8 {
      case 0:
        suspends += 1
        steps.append(.suspend)
      case 1 where suspends > 0:
        suspends -= 1
        steps.append(.resume)
      case 2: steps.append(.enqueueInside(number))
      default: steps.append(.enqueue(number))
      }
    }
    return steps + Array(repeating: .resume, count: suspends)
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64], Caller.all)
  func `a random script gives the trace that a DispatchQueue gives`(
    seed: UInt64, caller: Caller
  ) async throws {
    try await caller.call {
      let script = Self.script(seed)
      // Work that is enqueued inside of work comes late, and is compared separately.
      let theirs = DispatchQueue(label: "theirs")
      let ours = FIFOQueue()
      let (theirLog, ourLog) = (Log<Int>(), Log<Int>())
      for step in script {
        switch step {
        case .suspend:
          theirs.suspend()
          ours.suspend()
        case .resume:
          theirs.resume()
          ours.resume()
        case .enqueue(let number):
          theirs.async { theirLog.add(number) }
          ours.enqueue { ourLog.add(number) }
        case .enqueueInside(let number):
          theirs.async { theirs.async { theirLog.add(1_000 + number) } }
          ours.enqueue { ours.enqueue { ourLog.add(1_000 + number) } }
        }
      }
      let done = Gate()
      theirs.async { theirs.async { done.open() } }
      await done.wait(for: "the system's queue")
      await ours.drained()
      for isInside in [false, true] {
        #expect(
          ourLog.entries.filter { ($0 >= 1_000) == isInside }
            == theirLog.entries.filter { ($0 >= 1_000) == isInside })
      }
    }
  }
}
