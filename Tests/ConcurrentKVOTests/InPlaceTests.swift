import Testing

@testable import ConcurrentKVO
@testable import InturnCore

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

struct InPlaceTests {
  @Test func `who sleeps until a change in place is over is woken`() {
    let value = ConcurrentKVO(0)
    let hasBegun = Gate("the change in place")
    // Long enough that the others do not only spin.
    @Sendable func increment(_ number: inout Int) {
      hasBegun.pass()
      for _ in 0..<20_000 { sched_yield() }
      number += 1
    }
    let changer = TestThread("the change") { increment(&value.value) }
    hasBegun.wait()
    inParallel(2) { _ in value.value += 1 }
    changer.join()
    #expect(value.value == 3)
  }

  @Test func `who sleeps until a change in place is over is not held up by one that watches`() {
    for _ in 0..<100 {
      let trail = ConcurrentKVO(0).trail
      let copy = trail.beginInPlace()
      let other = TestThread("the change") { trail.set(trail.value + 10) }
      while !trail.lock.withLock({ trail.isAwaited }) { sched_yield() }
      _ = trail.endInPlace(copy + 1, delivers: true)
      trail.beginWatch()
      other.join()
      trail.endWatch()
      trail.set(trail.value + 100)
    }
  }
}
