/// How often a lane is suspended, and for which reasons.
struct Suspensions {
  /// All of them, those with a reason among them.
  private(set) var count: UInt32 = 0
  private var countOfReasons: UInt32 = 0
  private var reasons: [Bytes: UInt32] = [:]

  /// Adds one. False when no more can be counted.
  mutating func add(_ reason: Bytes?) -> Bool {
    if count == UInt32.max { return false }
    count += 1
    guard let reason else { return true }
    countOfReasons += 1
    reasons[reason, default: 0] += 1
    return true
  }

  /// Takes one of this reason back, or one without a reason. False when there is none.
  mutating func takeBack(_ reason: Bytes?) -> Bool {
    if let reason {
      guard let before = reasons[reason] else { return false }
      reasons[reason] = before > 1 ? before - 1 : nil
      countOfReasons -= 1
    } else if count == countOfReasons {
      return false
    }
    count -= 1
    return true
  }
}
