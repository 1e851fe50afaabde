/// One link of the chain from what stands still to the cause: an operation, or a whole queue. The
/// numbers of the causes are those of `inturn_stall_cause`.
package struct StallLink {
  package enum Cause: Int32 {
    /// These lead to the next link.
    case after = 1
    case name, turn
    /// What runs does not end.
    case token, call, task, place, callback
    /// What is pending may not start.
    case suspended, view, clock, delay
    /// What may start is not called.
    case executor, pool
  }

  package var cause: Cause
  package let queueLabel: String?
  package let operationLabel: String?
  package let isOperation: Bool
  /// What a message says of it besides its name; empty where the next link says it.
  var predicate = ""

  /// As a message names it.
  fileprivate var name: String {
    let queue = queueLabel.map { "queue \(Report.quoted($0))" } ?? "an unnamed queue"
    if !isOperation { return queue }
    return (operationLabel.map { Report.quoted($0) } ?? "an operation") + " of " + queue
  }
}

/// What stands still, why, and for how long.
package struct Stall {
  package private(set) var links: [StallLink] = []
  package let nanoseconds: Int64
  /// How many operations wait besides the links.
  package private(set) var waiting: UInt64 = 0
  /// The same for all that stands still for the same cause.
  private(set) var key: UInt64 = 0
  /// It may well be meant to: somebody has stopped it and nobody waits for it, or it just runs on.
  private(set) var isPatient = false

  private static var mostLinks: Int { 12 }

  /// Asks why a lane has not got on for so long. Nil when it has, or may get on, or waits for what has.
  /// No lock is held.
  init?(of first: Lane.Pointer, at now: Int64, limit: Int64, _ stands: borrowing StandTable) {
    var time: Int64?
    var lane = first
    var slot: OperationSlot.Pointer?
    repeat {
      let found = lane.standing(of: slot, at: now)
      slot?.dropReference()
      slot = nil
      guard var found, found.complete() else { return nil }
      slot = found.next
      let lanesSince = stands.since(lane, mark: found.mark)
      let since = found.isByItself ? found.startedAt ?? lanesSince : lanesSince
      guard let since, now - since >= limit else {
        slot?.dropReference()
        return nil
      }
      if time == nil {
        time = now - since
        waiting = found.waiting
        isPatient = found.isPatient
      }
      found.addTime(at: now, lanesSince: lanesSince)
      links += found.links
      key = found.key
      if let slot { lane = slot.lane }
    } while slot != nil && links.count < Self.mostLinks
    slot?.dropReference()
    nanoseconds = time.unsafelyUnwrapped
  }

  /// Another one for the same cause stands still, too: the longer chain says more.
  mutating func add(_ other: Stall) {
    let all = waiting + other.waiting
    if other.links.count > links.count { self = other }
    waiting = all
  }

  var report: Report {
    let last = links[links.count - 1]
    var message = "stuck for " + Self.text(nanoseconds)
    var joint = ": "
    for link in links {
      message += joint + link.name
      joint = " waits for "
    }
    message += ": " + last.predicate + "."
    if waiting > 0 {
      message += " " + String(waiting)
      if links.count > 1 { message += " more" }
      message += waiting == 1 ? " waits" : " wait"
      message += links[0].isOperation ? " behind it." : " in it."
    }
    var report = Report(
      kind: .stall, message: message, queueLabel: last.queueLabel,
      operationLabel: last.operationLabel)
    report.stall = self
    return report
  }

  /// A time as a message has it: rounded down, so that nothing is said to take longer than it has.
  @inline(never)
  static func text(_ nanoseconds: Int64) -> String {
    let milliseconds = nanoseconds / 1_000_000
    if milliseconds < 1000 { return String(milliseconds) + " ms" }
    var text = String(milliseconds / 1000)
    if milliseconds < 60_000 { text += "." + String(milliseconds % 1000 / 100) }
    return text + " s"
  }
}
