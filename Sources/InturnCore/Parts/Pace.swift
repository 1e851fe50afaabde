/// What limits the pace of a lane's starts: its view, the delays after it, a rate.
struct Pace {
  /// For a lane whose operations are shown in a view: the delay from its appearance to the first
  /// start, and from one end to the next start.
  var settle: Int64 = 0
  var gap: Int64 = 0
  /// True for a lane without a view.
  var isVisible = true
  /// Nothing starts before this moment, even when visible.
  private var readyAt = Int64.min
  /// Fires at that moment; created when first needed.
  var timer: TimerNode.Pointer?
  private(set) var rate: StartRate?

  /// The moment from which an operation may start; nil while the view is not visible.
  var nextStart: Int64? { isVisible ? max(readyAt, rate?.nextStart ?? readyAt) : nil }

  /// Whether its view has ever appeared.
  var hasAppeared: Bool { isVisible || readyAt != Int64.min }

  func lets(startAt now: Int64) -> Bool { nextStart.map { $0 <= now } ?? false }

  /// Whether the view has been visible for long enough.
  func isViewReady(at now: Int64) -> Bool { isVisible && readyAt <= now }

  /// Holds until a moment, or until a later one that was set before.
  mutating func hold(until moment: Int64) { readyAt = max(readyAt, moment) }

  /// Sets the rate, or removes it.
  mutating func change(_ rate: StartRate?, at now: Int64) {
    let old = self.rate
    self.rate = rate
    if let old { self.rate?.takeOver(from: old, at: now) }
  }

  mutating func countStart(at now: Int64) { rate?.take(at: now) }
}
