/// The words that a dump uses for an entry: the names of `inturn.h` in lower case, without a prefix.
extension SnapshotEntry {
  package enum Value {
    case name(StaticString)
    case handle(Handle)
    case number(Int64)
  }

  package var hasLabel: Bool { withUnsafeBytes(of: label) { $0[0] != 0 } }

  package static var fields: Int { 22 }

  /// One of the fields under its name in `inturn_entry`; the kind, the flags and the label are not
  /// among them. Nil if it is zero.
  package func field(_ place: Int) -> (key: StaticString, value: Value)? {
    func name(_ key: StaticString, _ name: StaticString?) -> (StaticString, Value)? {
      name.map { (key, .name($0)) }
    }
    func handle(_ key: StaticString, _ handle: Handle) -> (StaticString, Value)? {
      handle.bits == 0 ? nil : (key, .handle(handle))
    }
    func number(_ key: StaticString, _ number: Int64) -> (StaticString, Value)? {
      number == 0 ? nil : (key, .number(number))
    }
    switch place {
    case 0: return name("queue_kind", queueKind?.name)
    case 1: return name("state", state?.name)
    case 2: return name("cause", cause == .none ? nil : cause.name)
    case 3: return handle("id", id)
    case 4: return number("count", Int64(bitPattern: count))
    case 5: return number("pending", Int64(bitPattern: pending))
    case 6: return number("running", Int64(bitPattern: running))
    case 7: return number("ended", Int64(bitPattern: ended))
    case 8: return number("suspends", Int64(suspends))
    case 9: return number("priority", Int64(priority))
    case 10: return number("attempts", Int64(attempts))
    case 11: return handle("queue", queue)
    case 12: return handle("operation", operation)
    case 13: return handle("other", other)
    case 14: return handle("batch", batch)
    case 15: return handle("owner", owner)
    case 16: return handle("executor", executor)
    case 17: return handle("clock", clock)
    case 18: return handle("token", token)
    case 19: return number("enqueued_ns", enqueuedAt)
    case 20: return number("started_ns", startedAt)
    default: return number("at_ns", moment)
    }
  }
}

extension SnapshotEntry.Kind {
  package var name: StaticString {
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
  package func forEachName(_ body: (StaticString) -> Void) {
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
  package var name: StaticString {
    switch self {
    case .fifo: "fifo"
    case .actor: "actor"
    case .interaction: "interaction"
    case .concurrent: "concurrent"
    }
  }
}

extension StallLink.Cause {
  package var name: StaticString {
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
    case .wait: "wait"
    case .observer: "observer"
    }
  }
}
