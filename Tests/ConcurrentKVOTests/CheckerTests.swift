import ConcurrentKVO
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The trail under load: 8 writers, 4 readers, 4 observers; 1,000,000 changes of a word, 100,000 of
/// other types.
@Suite(.serialized) struct CheckerTests {
  /// A value that shows whether it was torn: all of its parts are made from one number.
  struct Whole: Equatable, Sendable {
    let number: Int
    let twice: Int
    let negated: Int

    init(_ number: Int) {
      self.number = number
      twice = number &* 2
      negated = ~number
    }

    var isWhole: Bool { self == Whole(number) }
  }

  /// The same in memory of its own.
  final class Boxed: Sendable {
    let whole: Whole
    init(_ number: Int) { whole = Whole(number) }
  }

  /// One observer's trail, which must have no gap.
  final class Follower: @unchecked Sendable {
    // Safe to share: one thread at a time calls an observer, and the test reads it afterwards.
    var count = 0
    var last = 0
    var lastNumber: UInt64 = 0
    var hash = 0
    var errors = 0

    func follow(old: Int, new: Int, number: UInt64) {
      if old != last || number != lastNumber + 1 { errors += 1 }
      count += 1
      last = new
      lastNumber = number
      hash = hash &* 31 &+ new
    }
  }

  private func check<T: Sendable>(
    _ value: ConcurrentKVO<T>, changes: Int = 100_000, make: @escaping @Sendable (Int) -> T,
    number: @escaping @Sendable (T) -> Int?
  ) {
    let each = scaled(changes) / 8
    let followers = (0..<4).map { _ in Follower() }
    let deliveries: [ObserverDelivery] = [.inline, .inline, .pool, .pool]
    let observations = zip(followers, deliveries).map { follower, delivery in
      value.observe(on: delivery) { change in
        guard let old = change.old.flatMap(number), let new = number(change.new) else {
          follower.errors += 1
          return
        }
        follower.follow(old: old, new: new, number: change.number)
      }
    }
    let isOver = ConcurrentKVO(false)
    let readers = (0..<4).map { _ in
      TestThread("a reader") {
        var last = 0
        while !isOver.value {
          guard let read = number(value.value) else {
            Issue.record("a read was torn")
            return
          }
          if read < last {
            Issue.record("a read gave \(read) after \(last)")
            return
          }
          last = read
          sched_yield()
        }
      }
    }
    @Sendable func add(_ one: inout T) { one = make(number(one)! + 1) }
    // Unoptimised and on a busy machine, a million changes take long.
    inParallel(8, timeout: .seconds(600)) { index in
      for round in 0..<each {
        if (round + index) % 2 == 0 { value.modify(add) } else { add(&value.value) }
      }
    }
    #expect(value.drain(timeout: limit))
    isOver.value = true
    for reader in readers { reader.join() }
    for follower in followers {
      #expect(follower.errors == 0)
      #expect(follower.count == 8 * each)
      #expect(follower.hash == followers[0].hash)
      #expect(follower.last == number(value.value))
    }
    withExtendedLifetime(observations) {}
  }
  @Test func `the trail of a word is gapless and one for all, its reads whole and never older`() {
    check(ConcurrentKVO(0), changes: 1_000_000, make: { $0 }, number: { $0 })
  }

  @Test func `the trail of several words is gapless and one for all, its reads whole`() {
    check(
      ConcurrentKVO(Whole(0)), make: { Whole($0) }, number: { $0.isWhole ? $0.number : nil })
  }

  @Test func `the trail of objects is gapless and one for all, its reads whole and never older`() {
    check(
      ConcurrentKVO(Boxed(0)), make: { Boxed($0) },
      number: { $0.whole.isWhole ? $0.whole.number : nil })
  }

  @Test func `the trail that is left to a worker is gapless and one for all`() {
    check(ConcurrentKVO(0, setSynchronously: false), make: { $0 }, number: { $0 })
  }
}
