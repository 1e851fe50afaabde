import ConcurrentKVO
import Synchronization
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
    // Long enough that the others do not only spin.
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

  @Test func `a writer has its turn however many readers compute`() {
    final class Counts: Sendable {
      // Relaxed: they are only compared with earlier counts.
      let reads = Atomic(0)
      let isOver = Atomic(false)
    }
    let value = RWLockedValue(0)
    let counts = Counts()
    // More readers than processors, so that there is always one inside.
    let readers = (0..<3).map { index in
      TestThread("reader \(index)") {
        while !counts.isOver.load(ordering: .relaxed) {
          value.read { number in
            var sum = number
            for step in 0..<2_000 { sum = (sum &* 31 &+ step) & 0xffff }
            #expect(sum >= 0)
          }
          counts.reads.wrappingAdd(1, ordering: .relaxed)
        }
      }
    }
    // The writer's thread may be preempted before it has announced itself.
    let meanwhile = (0..<200).map { _ in
      let before = counts.reads.load(ordering: .relaxed)
      value.value += 1
      let after = counts.reads.load(ordering: .relaxed)
      // The readers continue before the next write.
      while counts.reads.load(ordering: .relaxed) == after { sched_yield() }
      return after - before
    }
    counts.isOver.store(true, ordering: .relaxed)
    for reader in readers { reader.join() }
    // Nine out of ten: a writer that did not announce itself at once was overtaken by 20,000 readers.
    #expect(meanwhile.sorted()[180] < 5_000)
  }
}
