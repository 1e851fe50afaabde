import CInturnSystem

/// One link of the chain from the stalled object to the cause: an operation, or a whole queue. The
/// numbers of the causes are those of `inturn_stall_cause`.
package struct StallLink {
  package enum Cause: Int32 {
    /// Nothing keeps it; never the cause of a stall.
    case none
    /// These lead to the next link.
    case after, name, turn
    /// Running work does not end.
    case token, call, task, place, callback
    /// Pending work may not start.
    case suspended, view, clock, delay
    /// Work that may start is not called.
    case executor, pool
    /// Running work waits for the next link; the last link: for itself, round a ring.
    case wait
    /// The link is a value: a call of an observer does not return.
    case observer
  }

  package fileprivate(set) var cause: Cause
  package let queueLabel: Text?
  package let operationLabel: Text?
  package let isOperation: Bool
  /// Where the operation was enqueued, or the queue suspended.
  package let site: Site
  /// The token of the operation's present attempt; 0 before it has started.
  package var token: UInt64 { ~invertedToken }
  /// What is left in memory of a report is no copy of the token, which `inturn holders` would find.
  let invertedToken: UInt64
  /// By which the recorder knows the queue.
  let traceKey: UInt64
  /// The number of the thread that is in the operation's call; 0 if there is none, or it is not known.
  package let thread: UInt64
  /// The line that waits for the next link, of a wait.
  private(set) var lineOfWait = Site.unknown
  /// What a message says about it after its name; empty if the next link explains it.
  var predicate: Text = ""

  /// The thread that is in its call, as it appears in a message; empty if there is none.
  var placeOfCall: Text {
    if thread == 0 { return "" }
    var name: (UInt64, UInt64) = (0, 0)
    return withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 16) {
        inturn_system_find_thread_name(thread, $0)
        let name: Text = $0.pointee == 0 ? "" : " (" + Text(cString: $0) + ")"
        return " on thread " + Text(thread) + name
      }
    }
  }

  mutating func isKeptByNothing() {
    (cause, predicate) = (.none, Self.nothing)
  }

  mutating func waits(at line: Site) {
    (cause, lineOfWait, predicate) = (.wait, line, "")
  }

  mutating func closesRing(at line: Site) {
    waits(at: line)
    predicate = "they wait for each other"
  }

  static var nothing: Text { "nothing keeps it" }

  /// What it is and what keeps it; the latter is empty if the next link explains it.
  package var text: Text {
    var text: Text = ""
    addName(to: &text)
    return predicate.isEmpty ? text : text + ": " + predicate
  }

  /// Adds its name as it appears in a message.
  @inline(never)
  fileprivate func addName(to message: inout Text) {
    if isOperation {
      message.add(operationLabel.map { Report.quoted($0) } ?? "an operation")
      message.add(site.inBrackets(after: operationLabel))
      message.add(" of ")
    }
    if cause == .observer {
      message.add("the observers of " + Report.describe(value: queueLabel))
    } else {
      let name = Report.quoted(queueLabel, after: "queue ")
      message.add(queueLabel == nil ? "an unnamed queue" : name)
    }
  }
}

extension StallLink {
  /// The observers of a value, one of which is being called.
  fileprivate init(observersOf value: TrailBase, at site: Site = .unknown) {
    self.init(
      cause: .observer, queueLabel: value.label, operationLabel: nil, isOperation: false,
      site: site, invertedToken: ~0, traceKey: 0, thread: 0,
      predicate: "a call of one has not returned")
  }
}

/// What is stalled, why, and for how long.
package struct Stall {
  package private(set) var links: [StallLink] = []
  package private(set) var nanoseconds: Int64 = 0
  /// How many operations wait besides the links.
  package private(set) var waiting: UInt64 = 0
  /// The same for everything that is stalled for the same cause.
  private(set) var key: UInt64 = 0
  /// Of the queue that the chain ends with: who waits for its work is no more impatient than it is.
  private(set) var limitOfCause = StallLimit.standard
  /// The stall may well be intended: nobody waits for it, and it was stopped on purpose, it just keeps
  /// running, or it is shown to a person.
  private(set) var isPatient = false
  /// Where a copy of the token is that keeps it; empty if none is in memory, nil if that is not known.
  /// Valid while it is reported.
  package var copyOfToken: UnsafePointer<CChar>?

  /// How many links were left out before the last one.
  private var skipped = 0

  static var mostLinks: Int { 12 }
  /// The longest part of a chain that is followed.
  private static var mostSteps: Int { 1000 }

  /// Asks what keeps an operation, for however short a time. Nil if it has ended. The caller has a
  /// reference; no lock is held.
  init?(of operation: OperationSlot.Pointer, at now: Int64) {
    self.init(operation.lane, operation, at: now, limit: nil, StandTable())
  }

  /// The same for a queue. Nil if nothing is pending or running.
  init?(of queue: Lane.Pointer, at now: Int64) {
    self.init(queue, nil, at: now, limit: nil, StandTable())
  }

  /// Asks why a lane, or an operation whatever else its lane does, has made no progress for at least
  /// `limit`; nil if it has, or may, or comes after something that has. Without a limit, what keeps it,
  /// for however short a time. The caller has a reference to the operation; no lock is held.
  init?(
    _ first: Lane.Pointer, _ operation: OperationSlot.Pointer?, at now: Int64, limit: Int64?,
    _ stands: borrowing StandTable
  ) {
    var time: Int64?
    var lane = first
    var slot = operation
    slot?.addReference()
    var steps = 0
    var goesOn = true
    // Somebody waits for the first link, or its work for the next.
    var isAwaited = operation != nil
    /// The chain that ends with the first work that waits. It is told, in patience, where what that
    /// waits for gets on: it may be for ever, as with a queue that is never empty.
    var upToWait: Stall?
    /// Running operations whose work waits for the next link. If others have the places of its lane as
    /// well, the chain leads on by those.
    var passed: [OperationSlot.Pointer] = []
    while goesOn && steps < Self.mostSteps {
      let isOperation = slot != nil
      var asker = Standing.Asker.question
      if limit != nil {
        isAwaited = isAwaited || upToWait != nil || (steps == 1 && first.isAwaited)
        asker = isAwaited ? .waiter : .watchdog
      }
      let found = lane.standing(of: slot, at: now, for: asker, besides: passed)
      slot?.dropReference()
      slot = nil
      guard var found else {
        if limit == nil && !links.isEmpty {
          links[links.count - 1].isKeptByNothing()
        } else if let upToWait {
          self = upToWait
        } else {
          return nil
        }
        break
      }
      let isWhole = found.complete()
      slot = found.next
      let lanesSince = stands.since(lane, mark: found.mark)
      if let limit {
        // An operation may stand still in a lane that moves.
        let own = isOperation ? found.since.map { max($0, stands.resumedAt) } : nil
        let since = min(own ?? .max, lanesSince ?? .max)
        guard isWhole, since <= now - limit, found.rest / StallLimit.patience >= limit else {
          slot?.dropReference()
          slot = nil
          guard let upToWait else { return nil }
          self = upToWait
          break
        }
        // What keeps an operation back may have begun after it.
        if links.isEmpty || operation != nil { time = min(time ?? .max, now - since) }
      }
      if links.isEmpty {
        waiting = found.waiting
        isPatient = found.patience != .none
      } else {
        // What waits for an answer has as much time as who is asked.
        isPatient = isPatient || found.patience == .shown
        // A pending one that is named does not count as well.
        let isNamed = isOperation && lane == first && found.links[0].token == 0
        if isNamed && waiting > 0 { waiting -= 1 }
      }
      found.addRun(at: now, lanesSince: lanesSince)
      for link in found.links { add(link) }
      (key, limitOfCause) = (found.key, found.limit)
      if let line = found.lineOfWait {
        if limit != nil && upToWait == nil {
          upToWait = self
          upToWait?.isPatient = true
        }
        links[links.count - 1].waits(at: line)
        if let value = found.nextValue { add(StallLink(observersOf: value)) }
      }
      goesOn = slot != nil || found.nextLane != nil
      if let running = found.running, goesOn {
        if passed.contains(running) {
          links[links.count - 1].closesRing(at: found.lineOfWait ?? .unknown)
          break
        }
        passed.append(running)
      }
      lane = slot?.lane ?? found.nextLane ?? lane
      steps += 1
    }
    slot?.dropReference()
    nanoseconds = time ?? 0
  }

  /// A thread that is in no operation has waited so long for observers of a value.
  init(_ wait: WaitGraph.Wait, forObserversOf value: TrailBase, nanoseconds: Int64) {
    var link = StallLink(observersOf: value, at: wait.site)
    link.predicate.add(wait.isOnMainThread ? "; the main thread" : "; a thread")
    link.predicate.add(" waits for it" + wait.site.inBrackets)
    links = [link]
    self.nanoseconds = nanoseconds
    key = ~wait.number
  }

  /// Whether what it ends with is a token that has not been finished.
  var isKeptByToken: Bool { last.cause == .token }
  var last: StallLink { links[links.count - 1] }

  private var length: Int { links.count + skipped }

  private mutating func add(_ link: StallLink) {
    if links.count < Self.mostLinks {
      links.append(link)
    } else {
      links[links.count - 1] = link
      skipped += 1
    }
  }

  /// Merges another stall with the same cause: the longer chain says more.
  mutating func add(_ other: Stall) {
    let all = waiting + other.waiting
    if other.length > length { self = other }
    waiting = all
  }

  /// The report of a stall that has lasted too long.
  var report: Report {
    report(
      "stuck for " + Self.text(nanoseconds) + ": ",
      waitingWhere: links[0].isOperation ? " behind it." : " in it.")
  }

  /// The answer to a question about an operation or a queue.
  package var answer: Report {
    report("", waitingWhere: links[0].isOperation ? " in its queue." : " in it.")
  }

  private func report(_ beginning: Text, waitingWhere place: Text) -> Report {
    var message = beginning
    for number in links.indices {
      if number > 0 {
        let isAfterGap = skipped > 0 && number == links.count - 1
        message.add(" waits")
        message.add(links[number - 1].lineOfWait.inBrackets)
        if isAfterGap { message.add(", by way of " + Text(skipped) + " more,") }
        message.add(" for ")
      }
      links[number].addName(to: &message)
    }
    message.add(": ")
    message.add(last.predicate.isEmpty ? "it waits for others" : last.predicate)
    message.add(".")
    if waiting > 0 {
      message.add(" " + Text(waiting))
      if links.count > 1 { message.add(" more") }
      message.add(waiting == 1 ? " waits" : " wait")
      message.add(place)
    }
    var report = Report(
      kind: .stall, message: message, queueLabel: last.queueLabel,
      operationLabel: last.operationLabel, site: last.site)
    report.stall = self
    return report
  }

  /// A time as messages show it: rounded down, so that no time is overstated.
  static func text(_ nanoseconds: Int64) -> Text {
    let milliseconds = nanoseconds / 1_000_000
    if milliseconds < 1000 { return Text(milliseconds) + " ms" }
    var text = Text(milliseconds / 1000)
    if milliseconds < 60_000 { text.add("." + Text(milliseconds % 1000 / 100)) }
    return text + " s"
  }
}
