import Foundation
import TestSupport
import Testing

@testable import InturnCore

@Suite struct BriefLockTests {
  /// A lock, and a number that it protects.
  private final class Guarded: @unchecked Sendable {
    // Safe to share: `lock` protects `number`.
    let lock = BriefLock()
    var number = 0
  }

  @Test func `a lock that somebody has waited for long is left to them`() async throws {
    let guarded = Guarded()
    guarded.lock.lock()
    let waiter = Thread {
      guarded.lock.lock()
      guarded.number = 1
      guarded.lock.unlock()
    }
    waiter.start()
    let isImpatient = await comesTrue { guarded.lock.impatient.load(ordering: .relaxed) == 1 }
    try #require(isImpatient)
    guarded.lock.unlock()
    // From now on, the lock is either taken by the waiter or left alone.
    while !guarded.lock.take() {}
    #expect(guarded.number == 1)
    guarded.lock.unlock()
    let isDone = await comesTrue { waiter.isFinished }
    try #require(isDone)
    #expect(guarded.lock.impatient.load(ordering: .relaxed) == 0)
  }

  @Test func `one at a time has the lock, however long the others have waited`() async throws {
    let guarded = Guarded()
    let rounds = 2_000
    let threads = (0..<4).map { _ in
      Thread {
        for _ in 0..<rounds {
          guarded.lock.lock()
          let before = guarded.number
          // Holds it now and then until somebody has lost patience, while others still come.
          while before < rounds && before % 500 == 0
            && guarded.lock.impatient.load(ordering: .relaxed) == 0
          {
            sched_yield()
          }
          guarded.number = before + 1
          guarded.lock.unlock()
        }
      }
    }
    for thread in threads { thread.start() }
    let areDone = await comesTrue { threads.allSatisfy(\.isFinished) }
    try #require(areDone)
    let number = guarded.lock.withLock { guarded.number }
    #expect(number == 4 * rounds)
    #expect(guarded.lock.impatient.load(ordering: .relaxed) == 0)
  }
}
