import ConcurrentKVO
import Testing

import enum TestSupport.Threads

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// How long a test waits for one thing.
let limit = Duration.seconds(30)

/// Counts, and can be waited for; says what it waited for.
final class Gate: Sendable {
  private let count = ConcurrentKVO(0)
  private let what: String

  init(_ what: String) { self.what = what }

  var passed: Int { count.value }

  func pass() { count.value += 1 }

  func wait(
    for least: Int = 1, timeout: Duration = limit, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(
      count.wait(timeout: timeout) { $0 >= least } != nil, "waited \(timeout) for: \(what)",
      sourceLocation: location)
  }
}

/// A thread; `join` waits for its end.
final class TestThread: Sendable {
  private let over: Gate

  init(_ name: String = "a thread", _ body: @escaping @Sendable () -> Void) {
    let over = Gate("the end of \(name)")
    self.over = over
    Threads.run {
      body()
      over.pass()
    }
  }

  func join(timeout: Duration = limit, _ location: SourceLocation = #_sourceLocation) {
    over.wait(timeout: timeout, location)
  }
}

/// Runs the body on `count` threads at once, and waits for all.
func inParallel(
  _ count: Int, timeout: Duration = limit, _ body: @escaping @Sendable (_ index: Int) -> Void
) {
  let threads = (0..<count).map { index in TestThread("thread \(index)") { body(index) } }
  for thread in threads { thread.join(timeout: timeout) }
}

/// `count` times the environment's INTURN_TEST_SCALE, which is 1 by default.
func scaled(_ count: Int) -> Int {
  let scale = getenv("INTURN_TEST_SCALE").flatMap { Double(String(cString: $0)) } ?? 1
  return max(1, Int(Double(count) * scale))
}

/// How many objects of a test are alive.
final class Census: Sendable {
  private let alive = ConcurrentKVO(0)

  func make(_ number: Int = 0) -> Member {
    alive.value += 1
    return Member(number, self)
  }

  /// Waits until none is left: a worker may keep one for a moment longer than can be observed.
  func expectNone(_ location: SourceLocation = #_sourceLocation) {
    #expect(
      alive.wait(timeout: limit) { $0 == 0 } != nil,
      "after \(limit) \(alive.value) objects are left", sourceLocation: location)
  }

  final class Member: Sendable {
    let number: Int
    private let census: Census

    fileprivate init(_ number: Int, _ census: Census) {
      self.number = number
      self.census = census
    }

    deinit { census.alive.value -= 1 }
  }
}

extension ValueChange {
  /// As text: "1>2", ">2" for an initial value, "(1>2)" before a change.
  var text: String {
    let old = old.map { "\($0)" } ?? ""
    return isPrior ? "(\(old)>\(new))" : "\(old)>\(new)"
  }
}
