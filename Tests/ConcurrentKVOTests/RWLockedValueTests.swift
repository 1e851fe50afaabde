import ConcurrentKVO
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

struct RWLockedValueTests {
  @Test(arguments: [false, true])
  func `who sleeps until the value is free is woken`(isHeldByWriter: Bool) {
    let value = RWLockedValue(0)
    let isHeld = Gate("the value to be held")
    // For so long that the others do not just spin.
    let hold: @Sendable () -> Void = {
      isHeld.pass()
      for _ in 0..<20_000 { sched_yield() }
    }
    let holder = TestThread("the holder") {
      if isHeldByWriter { value.modify { _ in hold() } } else { value.read { _ in hold() } }
    }
    isHeld.wait()
    let each = 10_000
    inParallel(4) { index in
      for _ in 0..<each {
        if index < 3 { value.value += 1 } else { #expect(value.value >= 0) }
      }
    }
    holder.join()
    #expect(value.value == 3 * each)
  }
}
