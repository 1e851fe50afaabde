/// What a dump calls what an entry says: the names of `inturn.h`, without what all have in common, in
/// small letters.
extension SnapshotEntry {
  enum Value {
    case name(StaticString)
    case handle(Handle)
    case number(Int64)
  }

  var hasLabel: Bool { withUnsafeBytes(of: label) { $0[0] != 0 } }

  /// Tells each field that is not zero, but for the kind, the flags and the label, as `inturn_entry`
  /// calls it.
  @inline(never)
  func forEachField(_ body: (StaticString, Value) -> Void) {
    func tell(_ key: StaticString, _ name: StaticString?) {
      if let name { body(key, .name(name)) }
    }
    func tell(_ key: StaticString, _ handle: Handle) {
      if handle.bits != 0 { body(key, .handle(handle)) }
    }
    func tell(_ key: StaticString, _ number: Int64) {
      if number != 0 { body(key, .number(number)) }
    }
    tell("queue_kind", queueKind?.name)
    tell("state", state?.name)
    tell("cause", cause == .none ? nil : cause.name)
    tell("id", id)
    tell("count", Int64(bitPattern: count))
    tell("pending", Int64(bitPattern: pending))
    tell("running", Int64(bitPattern: running))
    tell("ended", Int64(bitPattern: ended))
    tell("suspends", Int64(suspends))
    tell("priority", Int64(priority))
    tell("attempts", Int64(attempts))
    tell("queue", queue)
    tell("operation", operation)
    tell("other", other)
    tell("batch", batch)
    tell("owner", owner)
    tell("executor", executor)
    tell("clock", clock)
    tell("token", token)
    tell("enqueued_ns", enqueuedAt)
    tell("started_ns", startedAt)
    tell("at_ns", moment)
  }
}

extension SnapshotEntry.Kind {
  var name: StaticString {
    switch self {
    case .executor: "executor"
    case .clock: "clock"
    case .owner: "owner"
    case .batch: "batch"
    case .wait: "wait"
    case .queue: "queue"
    case .operation: "operation"
    case .after: "after"
    case .name: "name"
    }
  }
}

extension SnapshotEntry.Flags {
  func forEachName(_ body: (StaticString) -> Void) {
    func tell(_ flag: Self, _ name: StaticString) { if contains(flag) { body(name) } }
    tell(.cancelled, "cancelled")
    tell(.closed, "closed")
    tell(.waitedFor, "waited_for")
    tell(.barrier, "barrier")
    tell(.urgent, "urgent")
    tell(.manual, "manual")
    tell(.pool, "pool")
    tell(.main, "main")
  }
}

extension OperationState {
  var name: StaticString {
    switch self {
    case .pending: "pending"
    case .running: "running"
    case .ended: "ended"
    }
  }
}

extension QueueKind {
  var name: StaticString {
    switch self {
    case .fifo: "fifo"
    case .actor: "actor"
    case .interaction: "interaction"
    case .concurrent: "concurrent"
    }
  }
}

extension StallLink.Cause {
  var name: StaticString {
    switch self {
    case .none: "none"
    case .after: "after"
    case .name: "name"
    case .turn: "turn"
    case .token: "token"
    case .call: "call"
    case .task: "task"
    case .place: "place"
    case .callback: "callback"
    case .suspended: "suspended"
    case .view: "view"
    case .clock: "clock"
    case .delay: "delay"
    case .executor: "executor"
    case .pool: "pool"
    }
  }
}
