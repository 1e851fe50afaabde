import InturnCore

/// Something that the library has noticed and nobody asked for.
public struct Report: Sendable {
  /// What it is about.
  public enum Kind: Sendable {
    /// A finish callback or a token was lost, and its operation ended as abandoned.
    case lostToken
    /// A wait or a dependency would never have ended.
    case deadlock
    /// An operation takes longer than it said it would.
    case stall
    /// A queue has not accepted an operation, and the caller cannot be told.
    case refused
    /// Observers of a value keep changing it in answer to their own changes.
    case runaway
    /// An observer of a value cannot be called any more: its queue is gone.
    case lostObserver
    /// A pool of the library needs a thread, and none can be started.
    case noThread
    /// A function of the C library has refused an argument, which the message names.
    case invalidArgument
    /// Work in another language has thrown an exception that nobody catches.
    case exception
    /// A queue of another language was released before its work had ended.
    case dropped
  }

  /// What it is about.
  public let kind: Kind
  /// One line.
  public let message: String
  /// The label of the queue that it is about; nil if there is none.
  public let queueLabel: String?
  /// The label of the operation that it is about; nil if there is none.
  public let operationLabel: String?
  /// The file of the line that enqueued the operation, or suspended the queue, that the report is
  /// about, such as `App/Upload.swift`. Nil when it is unknown.
  public let fileID: String?
  /// That line; 0 when it is unknown.
  public let line: Int
  /// What keeps something that is stuck, in the word that a dump has for it, such as `token`, `call` or
  /// `suspended`. Nil in other reports.
  public let cause: String?
  /// If something is stuck, a report for each link of the chain: first what is stuck, then what that
  /// waits for, and so on to what keeps them all. Its `cause` says what keeps it, such as `after`, if
  /// the next link is what it comes after. Otherwise empty.
  public let chain: [Report]
  /// The last steps of the queues in question, a line each, the oldest first, if something is stuck
  /// and `startTrace` was called before. For people: the form may change.
  public let steps: String?

  /// Sets the handler of reports. Without one, or with nil, they are written to the standard error.
  ///
  /// A process has one handler for the whole library. It is called on any thread, without a lock,
  /// and may call any function of the library.
  public static func setHandler(_ handler: (@Sendable (Report) -> Void)?) {
    Engine.setReportHandler(
      handler.map { handler in ReportHandler(call: { handler(Report($0)) }) })
  }

  /// Sets after how long something is reported as stuck: it is pending or running, and neither it nor
  /// anything that it waits for has started or ended since.
  ///
  /// Zero for the default: what the environment's `INTURN_STALL` says, such as `500ms`, `2s` or `off`;
  /// else one second if the standard error is a terminal, a debugger follows the process, or it is a
  /// test; else ten seconds. Nil for never. What may well stand still on purpose, such as a suspended
  /// queue that nobody waits for, is reported after ten times as long; so is what an interaction queue
  /// shows, as people take their time.
  public static func setStallLimit(_ limit: Duration?) {
    Engine.setStallLimit(StallLimit(limit))
  }

  /// Writes the whole state to a file descriptor, as text: each queue with its operations, and what
  /// they wait for. Nothing is stopped for it. False when writing fails.
  @discardableResult
  public static func dumpAll(to fileDescriptor: Int32 = 2) -> Bool {
    Dump.write(to: fileDescriptor, as: .text)
  }

  /// Writes the same as JSON, for programs: `now_ns`, and `entries` with the names of the C library's
  /// `inturn_entry`.
  @discardableResult
  public static func dumpJSON(to fileDescriptor: Int32) -> Bool {
    Dump.write(to: fileDescriptor, as: .json)
  }

  /// Writes the same for Graphviz: an arrow from each operation to what it waits for.
  @discardableResult
  public static func dumpDOT(to fileDescriptor: Int32) -> Bool {
    Dump.write(to: fileDescriptor, as: .dot)
  }

  /// Writes the same as a page for a browser, which needs nothing else: a click on a queue or an
  /// operation shows what is known of it.
  @discardableResult
  public static func dumpHTML(to fileDescriptor: Int32) -> Bool {
    Dump.write(to: fileDescriptor, as: .html)
  }

  /// Records from now on what each thread does with queues, in a ring of its last records.
  ///
  /// A record takes about 10 ns; nothing is recorded before. `bytes` is how much memory all threads
  /// have together, by default 16 MiB. The first call takes it, and it is not given back. Does
  /// nothing if it is on. Starting again forgets what was recorded before it was stopped. False
  /// when there is no memory, or for more than a terabyte.
  @discardableResult
  public static func startTrace(bytes: Int = 0) -> Bool { Trace.start(bytes: bytes) == .ok }

  /// Stops recording. What was recorded can still be written.
  public static func stopTrace() { Trace.stop() }

  /// Writes what was recorded to a file descriptor, for Perfetto (ui.perfetto.dev) and Chrome: a
  /// track for each queue and each thread, with arrows from an enqueue to the start, from there to
  /// the end, and from an end to what it let start. False when writing fails.
  @discardableResult
  public static func writeTrace(to fileDescriptor: Int32) -> Bool {
    Trace.write(to: fileDescriptor) == .ok
  }

  init(_ report: InturnCore.Report) {
    switch report.kind {
    case .lostToken: kind = .lostToken
    case .deadlock: kind = .deadlock
    case .stall: kind = .stall
    case .runaway: kind = .runaway
    case .lostObserver: kind = .lostObserver
    case .noThread: kind = .noThread
    case .invalidArgument: kind = .invalidArgument
    case .exception: kind = .exception
    case .dropped: kind = .dropped
    case .refused: kind = .refused
    }
    message = String(report.message)
    (queueLabel, operationLabel) = (
      report.queueLabel.map { String($0) }, report.operationLabel.map { String($0) }
    )
    (fileID, line) = Self.place(report.site)
    chain = report.stall?.links.map { Report($0) } ?? []
    cause = chain.last?.cause
    let steps = report.stall.flatMap { Trace.lastSteps(of: $0) }
    self.steps = steps.map { String(cString: $0) }
    steps?.deallocate()
  }

  private init(_ link: StallLink) {
    kind = .stall
    message = String(link.text)
    (queueLabel, operationLabel) = (
      link.queueLabel.map { String($0) }, link.operationLabel.map { String($0) }
    )
    (fileID, line) = Self.place(link.site)
    cause = link.cause.name.description
    chain = []
    steps = nil
  }

  private static func place(_ site: Site) -> (String?, Int) {
    site.line.map { (String(cString: $0.file), Int($0.number)) } ?? (nil, 0)
  }

  /// Reports that a queue has not accepted an operation.
  package static func refused(
    queue label: String?, operation: String? = nil, at site: Site, _ error: QueueError
  ) {
    let queue = label.map { "queue " + $0.quoted } ?? "an unnamed queue"
    let name = operation.map { "operation " + $0.quoted } ?? "an operation"
    // A label contains the line already.
    let place = operation == nil ? site.text.map { " (\($0))" } ?? "" : ""
    InturnCore.Report(
      .refused, "\(queue) has not accepted \(name)\(place): \(error)", queueLabel: label,
      operationLabel: operation, at: site
    ).send()
  }
}

extension StallLimit {
  /// Nil for never.
  init(_ limit: Duration?) {
    require(limit ?? .zero >= .zero, "A stall limit is not negative; use nil for none.")
    self.init(limit?.inNanoseconds ?? -1)
  }
}

extension Site {
  /// The line, such as `App/Upload.swift:12`; nil when it is unknown.
  package var text: String? { line.map { "\(String(cString: $0.file)):\($0.number)" } }
}
