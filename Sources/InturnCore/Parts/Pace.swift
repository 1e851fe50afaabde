/// What sets the pace of a lane's starts: its view, the delays after it, a rate.
struct Pace {
  /// Of a lane whose operations are shown in a view: from its appearing to the first start, and from
  /// one end to the next start.
  var settle: Int64 = 0
  var gap: Int64 = 0
  /// True for a lane without a view.
  var isVisible = true
  /// Not before this moment, even when visible.
  private var readyAt = Int64.min
  /// Tells of the moment; made when there is one first.
  var timer: TimerNode.Pointer?
  private(set) var rate: StartRate?

  /// The moment from which on an operation may start; nil while none is known.
  var nextStart: Int64? { isVisible ? max(readyAt, rate?.nextStart ?? readyAt) : nil }

  /// Whether its view has ever been there.
  var hasAppeared: Bool { isVisible || readyAt != Int64.min }

  func lets(startAt now: Int64) -> Bool { nextStart.map { $0 <= now } ?? false }

  /// Whether the view has been there for long enough.
  func isViewReady(at now: Int64) -> Bool { isVisible && readyAt <= now }

  /// Holds until a moment, or a later one that holds already.
  mutating func hold(until moment: Int64) { readyAt = max(readyAt, moment) }

  /// From now on, there is this rate or none.
  mutating func change(_ rate: StartRate?, at now: Int64) {
    let old = self.rate
    self.rate = rate
    if let old { self.rate?.takeOver(from: old, at: now) }
  }

  mutating func countStart(at now: Int64) { rate?.take(at: now) }
}
