/// After how long something is reported as stuck: what a queue says, or else the process.
package struct StallLimit: Equatable, Sendable {
  /// Zero where nothing is said, and `Int64.max` for never.
  let nanoseconds: Int64

  /// Nothing is said: what follows decides.
  package static var standard: Self { Self(0) }
  static var never: Self { Self(-1) }

  /// As users give it: 0 for nothing said, below 0 for never.
  package init(_ given: Int64) {
    nanoseconds = (0...Self.longest).contains(given) ? given : .max
  }

  /// How many times longer a stall may last if it is intended, unawaited, or for a person to end; and
  /// what goes on by itself before that is no stall.
  static var patience: Int64 { 10 }
  /// And how many times longer, at most, for a queue that was slow before.
  static var mostTolerance: Int64 { 64 }
  /// Half a year: what it is multiplied with leaves it a number.
  private static var longest: Int64 { .max / (patience * mostTolerance) }

  func or(_ next: @autoclosure () -> Int64) -> Int64 { self == .standard ? next() : nanoseconds }
}
