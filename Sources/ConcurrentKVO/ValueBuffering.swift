import InturnCore

/// What a sequence keeps of the changes that nobody has asked for yet.
public enum ValueBuffering: Sendable {
  /// Everything.
  case unbounded
  /// The latest value only; changes are joined, so that their trail has no gap.
  case latest
  /// The first so many. What comes while they wait is left out.
  case oldest(Int)
  /// The last so many. The oldest is left out when another one comes.
  case newest(Int)

  var manner: TrailManner {
    var manner = TrailManner()
    manner.initial = true
    manner.hasMailbox = true
    manner.isPulled = true
    switch self {
    case .unbounded: break
    case .latest: manner.latest = true
    case .oldest(let count):
      manner.capacity = Self.checked(count)
      manner.overflow = .dropsNewest
    case .newest(let count):
      manner.capacity = Self.checked(count)
      manner.overflow = .dropsOldest
    }
    return manner
  }

  private static func checked(_ count: Int) -> Int {
    precondition(count > 0, "A buffer needs room for one value at least.")
    return count
  }
}
