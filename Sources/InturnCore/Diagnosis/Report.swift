import CInturnSystem

/// What the library reports to the report handler. The numbers of the kinds are those of
/// `inturn_report_kind`.
package struct Report {
  package enum Kind: Int32 {
    case stall = 1
    case deadlock, lostToken
    case runaway, lostObserver, noThread, invalidArgument
    case exception, dropped, refused
  }

  package let kind: Kind
  package internal(set) var message: Text
  package let queueLabel: Text?
  package let operationLabel: Text?
  /// Where the operation was enqueued, or the queue suspended.
  package let site: Site
  /// Set in reports of a stall.
  package internal(set) var stall: Stall?

  static func stall(
    operation: UnsafePointer<CChar>?, queue: UnsafePointer<CChar>?, at site: Site,
    isRunning: Bool, nanoseconds: Int64
  ) -> Report {
    let what: Text = isRunning ? " has been running for " : " has been waiting to start for "
    // Swift's formatting of floating-point numbers would be a hundredth of the library's size.
    return Report(
      .stall, operation, queue, at: site,
      describe(operation, queue, at: site) + what + Stall.text(nanoseconds))
  }

  static func lostToken(
    operation: UnsafePointer<CChar>?, queue: UnsafePointer<CChar>?, at site: Site,
    enqueuedAt place: UnsafePointer<CChar>?
  ) -> Report {
    let isNamed = site.inBrackets(after: operation.map { Text(cString: $0) }).isEmpty
    let line = place.map { Text(cString: $0).inOneLine } ?? (isNamed ? nil : site.line?.text)
    let origin = line.map { "; it was enqueued at " + $0 } ?? ""
    return Report(
      .lostToken, operation, queue, at: site,
      describe(operation, queue) + " was abandoned: its token was lost unfinished" + origin)
  }

  package static func runaway(value: Text?, changes: UInt32) -> Report {
    Report(
      kind: .runaway,
      message: describe(value: value) + " was changed " + Text(changes)
        + " times in a row by its own observers in answer to one another; they may never stop")
  }

  static func lostObserver(value: Text?) -> Report {
    Report(
      kind: .lostObserver,
      message: "an observation of " + describe(value: value)
        + " has ended: the queue that is to call its observer is closed, or full")
  }

  static func noThread(pool: Text?) -> Report {
    let name = pool == nil ? "the library's pool" : quoted(pool, after: "pool ")
    return Report(
      kind: .noThread,
      message: "no thread can be started for " + name + ": its work waits until one can")
  }

  /// How many names a report has at each end of a long ring.
  private static var namesAtAnEnd: Int { 6 }

  /// `ring`: who waits, and what each one waits for. `work`: where the work whose wait is
  /// refused was enqueued. `wait`: the line that waits.
  package static func deadlock(ring: [Text], of work: Site, at wait: Site) -> Report {
    var message: Text = "a wait was refused because it could never end: "
    let left = ring.count - 1 - 2 * namesAtAnEnd
    var place = 0
    while place < ring.count {
      if place > 0 { message.add(" waits for ") }
      let isGap = left > 1 && place == 1 + namesAtAnEnd
      message.add(isGap ? Text(left) + " more" : ring[place])
      place += isGap ? left : 1
    }
    let (line, waiting) = (work.line, wait.line)
    if let line { message.add("; the work that waits was enqueued at " + line.text) }
    if let waiting {
      message.add(line == nil ? "; it waits at " : ", and waits at ")
      message.add(waiting.text)
    }
    return Report(kind: .deadlock, message: message, site: work)
  }

  private init(
    _ kind: Kind, _ operation: UnsafePointer<CChar>?, _ queue: UnsafePointer<CChar>?,
    at site: Site, _ message: Text
  ) {
    self.init(
      kind: kind, message: message, queueLabel: queue.map { Text(cString: $0) },
      operationLabel: operation.map { Text(cString: $0) }, site: site)
  }

  package init(
    kind: Kind, message: Text, queueLabel: Text? = nil, operationLabel: Text? = nil,
    site: Site = .unknown
  ) {
    self.kind = kind
    self.message = message
    self.queueLabel = queueLabel
    self.operationLabel = operationLabel
    self.site = site
  }

  private static func describe(
    _ operation: UnsafePointer<CChar>?, _ queue: UnsafePointer<CChar>?,
    at site: Site = .unknown
  ) -> Text {
    let name = operation.map { Text(cString: $0) }
    let subject = name == nil ? "an operation" : quoted(name, after: "operation ")
    let place = quoted(queue.map { Text(cString: $0) }, after: " of queue ")
    return subject + site.inBrackets(after: name) + place
  }

  @inline(never)
  static func describe(value: Text?) -> Text {
    value == nil ? "an unnamed value" : quoted(value, after: "value ")
  }

  /// Quotes a label for a message, which stays one line whatever the label contains.
  package static func quoted(_ label: Text) -> Text {
    "\"" + label.inOneLine + "\""
  }

  /// A quoted label after some words; empty if there is no label.
  @inline(never)
  static func quoted(_ label: Text?, after words: Text) -> Text {
    label.map { words + quoted($0) } ?? ""
  }

  /// Calls the handler. No lock is held.
  package func send() {
    if let handler = Engine.current.pointee.reportHandler.withLock({ $0 }) {
      handler(self)
    } else {
      var line = "inturn: " + message + "\n"
      if let stall, stall.isKeptByToken { Self.add(whereTokenIs: stall.copyOfToken, to: &line) }
      Self.write(line)
    }
  }

  private static func add(whereTokenIs copy: UnsafePointer<CChar>?, to lines: inout Text) {
    lines.add("  ")
    let isNowhere = copy?.pointee == 0
    if let copy {
      lines.add(isNowhere ? "no copy of the token is in the memory" : "a copy of the token is ")
      lines.add(isNowhere ? " of this process" : Text(cString: copy))
      lines.add("; ")
    }
    lines.add("inturn holders " + Text(getpid()))
    lines.add(isNowhere ? " looks into registers, too\n" : " says who has the token\n")
  }

  @inline(never)
  private static var hasHandler: Bool {
    Engine.current.pointee.reportHandler.withLock { $0 != nil }
  }

  /// Where all that is stuck is told, for who is told only a part.
  private static var isStuck: Text { " is stuck; inturn why " + Text(getpid()) + " tells all" }

  /// Says that on the standard error, where there is no handler.
  static func sayThatMoreIsStuck() {
    if hasHandler { return }
    write("inturn: more" + isStuck + "\n")
  }

  /// The same for a handler, which gets it with the last report.
  @inline(never)
  mutating func addThatMoreIsStuck() {
    if Self.hasHandler { message.add(" More" + Self.isStuck + ".") }
  }

  static func write(_ line: Text) {
    line.withCString { inturn_system_write_error($0, UInt(line.length)) }
  }
}

/// The handler of reports.
package typealias ReportHandler = Callback<Report>
