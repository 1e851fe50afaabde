import InturnCore

/// What an observer is told of.
public struct ObservationOptions: OptionSet, Sendable {
  /// The options as bits, one bit each.
  public let rawValue: Int

  /// Options by their bits; unknown bits are ignored.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// Begins with the present value.
  public static let initial = ObservationOptions(rawValue: 1)
  /// Tells each change twice: before any observer is told of it, and with the others. Reading the
  /// value may give the new one both times.
  public static let prior = ObservationOptions(rawValue: 2)
  /// Tells only the latest change when several are due. There is still no gap: the old value is the
  /// new one that the observer was told before. Not together with ``prior``.
  public static let latest = ObservationOptions(rawValue: 4)

  var manner: TrailManner {
    require(
      !isSuperset(of: [.prior, .latest]),
      "An observer is told of each change before it, or of the latest only: leave out one of the"
        + " options .prior and .latest.")
    var manner = TrailManner()
    manner.initial = contains(.initial)
    manner.prior = contains(.prior)
    manner.latest = contains(.latest)
    return manner
  }
}
