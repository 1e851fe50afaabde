import InturnCore

extension Report {
  /// All that there is: executors, clocks, owners, batches and waits; then each queue with its
  /// operations, running ones first, each followed by the operations that it comes after and its
  /// exclusive names.
  ///
  /// May be called from any thread, and takes time for each entry. Nothing stops for it. A queue is
  /// told as it is at one moment, up to 100 entries; the rest of a longer one in pieces, each as it
  /// is at a moment of its own. Consecutive pending operations of which nothing else is known are
  /// one entry with a count. A ``Batch`` is told until it is over, with the queue that all its
  /// operations are of, if there is one. They do not name it.
  ///
  ///     print(Report.snapshot().map(\.description).joined(separator: "\n"))
  public static func snapshot() -> [Entry] {
    var entries: [Entry] = []
    Engine.snapshot {
      entries.append(Entry(copy: $0))
      return true
    }
    return entries
  }

  /// One thing that there is: a copy, which stays as it is.
  ///
  /// It says what the C library's `inturn_entry` says. Properties that its kind does not have are
  /// nil, empty or zero. Objects have numbers, which can be compared: a number names one object as
  /// long as the process lives.
  public struct Entry: Sendable {
    fileprivate let copy: SnapshotEntry

    /// `executor`, `clock`, `owner`, `batch`, `wait`, `queue`, `operation`, `after` or `name`.
    public var kind: String { copy.kind.name.description }
    /// Its label; of a name, the name. At most 63 bytes of it.
    public var label: String? {
      if !copy.hasLabel { return nil }
      return withUnsafeBytes(of: copy.label) {
        String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
      }
    }
    /// The file of the line that made it, such as `App/Upload.swift`; nil when it is unknown.
    public var fileID: String? { copy.site.line.map { String(cString: $0.file) } }
    /// That line; 0 when it is unknown.
    public var line: Int { Int(copy.site.line?.number ?? 0) }

    /// Of an operation. Of a name: running if its operation has it, pending if that waits for it.
    public var state: OperationState? { copy.state.map(OperationState.init) }
    /// Why an operation does not start or end, or a queue starts nothing that is pending: a word of
    /// ``Report/cause``.
    public var cause: String? { copy.cause == .none ? nil : copy.cause.name.description }
    /// The kind of a queue: `fifo`, `actor`, `interaction` or `concurrent`.
    public var queueKind: String? { copy.queueKind?.name.description }
    /// What else is true of it, of the words `cancelled`, `closed`, `waited_for`, `barrier`,
    /// `urgent`, `manual`, `pool` and `main`.
    public var flags: [String] {
      var names: [String] = []
      copy.flags.forEachName { names.append($0.description) }
      return names
    }

    /// Its number; of a wait, that of its thread. Nil for what has none, such as a plain closure.
    public var id: UInt64? { number(copy.id) }
    /// The queue of an operation, or of all of a batch; of a wait, the queue that it waits for.
    public var queue: UInt64? { number(copy.queue) }
    /// The operation that it belongs to; of a wait, the one that it waits for.
    public var operation: UInt64? { number(copy.operation) }
    /// What has to end before; who is before it in the line for a name; the queue whose callback or
    /// task waits.
    public var other: UInt64? { number(copy.other) }
    /// The batch of an operation, if a program in C has enqueued that.
    public var batch: UInt64? { number(copy.batch) }
    /// The owner of an operation.
    public var owner: UInt64? { number(copy.owner) }
    /// The executor of a queue; nil if that runs Swift's tasks.
    public var executor: UInt64? { number(copy.executor) }
    /// The clock of a queue; nil for the system's.
    public var clock: UInt64? { number(copy.clock) }
    /// The token of an operation that was given out last.
    public var token: UInt64? { number(copy.token) }

    /// How many operations it stands for, or has; how much waits for an executor; how many timers of
    /// a clock run.
    public var count: Int { Int(copy.count) }
    /// How many operations of a queue have not started.
    public var pending: Int { Int(copy.pending) }
    /// How many operations of a queue have started and not ended; how many threads an executor has.
    public var running: Int { Int(copy.running) }
    /// How many operations of a queue or a batch have ended.
    public var ended: Int { Int(copy.ended) }
    /// How many suspends of a queue are in force.
    public var suspends: Int { Int(copy.suspends) }
    /// The priority of an operation.
    public var priority: Int { Int(copy.priority) }
    /// How many attempts of an operation have begun, if it has options.
    public var attempts: Int { Int(copy.attempts) }
    /// When an operation was enqueued, on its queue's clock.
    public var enqueued: Duration? { moment(copy.enqueuedAt) }
    /// When an operation started, on its queue's clock.
    public var started: Duration? { moment(copy.startedAt) }
    /// A clock's time. Of a queue, the moment before which its delays or its rate allow no start.
    public var at: Duration? { moment(copy.moment) }

    private func number(_ handle: Handle) -> UInt64? { handle.bits == 0 ? nil : handle.bits }

    private func moment(_ time: Int64) -> Duration? { time == 0 ? nil : .nanoseconds(time) }
  }
}

extension Report.Entry: CustomStringConvertible {
  /// Its kind and all that it has, as a line of ``Report/dumpAll(to:)`` without the space before it.
  public var description: String {
    var words = [kind]
    if let label { words.append(quoted(label)) }
    words += flags
    for place in 0..<SnapshotEntry.fields {
      switch copy.field(place) {
      case (_, .name(let name))?: words.append("\(name)")
      case (let key, .handle(let handle))?:
        words.append("\(key)=0x\(String(handle.bits, radix: 16))")
      case (let key, .number(let number))?: words.append("\(key)=\(number)")
      case nil: break
      }
    }
    if let fileID { words += ["file=" + quoted(fileID), "line=\(line)"] }
    return words.joined(separator: " ")
  }

  private func quoted(_ text: String) -> String {
    "\"" + text.inOneLine.map { "\"\\".contains($0) ? "\\\($0)" : "\($0)" }.joined() + "\""
  }
}
