/// How a queue's operations have ended, except those that finished.
package struct EndCounts {
  package private(set) var failed: UInt64 = 0
  package private(set) var cancelled: UInt64 = 0
  package private(set) var timedOut: UInt64 = 0
  package private(set) var abandoned: UInt64 = 0
  /// Running operations that the queue knows to have ended and that still hold their places.
  var keepingPlaces: UInt32 = 0

  var sum: UInt64 { failed + cancelled + timedOut + abandoned }

  mutating func add(_ other: EndCounts) {
    failed += other.failed
    cancelled += other.cancelled
    timedOut += other.timedOut
    abandoned += other.abandoned
  }

  mutating func add(_ outcome: Outcome, _ times: UInt64 = 1) {
    switch outcome {
    case .finished: break
    case .failed: failed += times
    case .cancelled: cancelled += times
    case .timedOut: timedOut += times
    case .abandoned: abandoned += times
    }
  }
}
