import CInturn
import InturnCore

@_cdecl("inturn_snapshot") @implementation
public func inturn_snapshot(
  _ visit: inturn_visit_fn?, _ context: UnsafeMutableRawPointer?
) -> inturn_status {
  guard Engine.isThere else { return INTURN_E_NO_MEMORY }
  guard let visit else { return refuse("visit") }
  var told = inturn_entry()
  told.size = UInt32(MemoryLayout<inturn_entry>.size)
  Engine.snapshot { entry in
    told.fill(with: entry)
    return visit(context, &told)
  }
  return INTURN_OK
}

@_cdecl("inturn_dump") @implementation
public func inturn_dump(_ fd: Int32, _ format: inturn_dump_format) -> inturn_status {
  guard Engine.isThere else { return INTURN_E_NO_MEMORY }
  guard let format = Dump.Format(rawValue: Int32(bitPattern: format.rawValue))
  else { return refuse("format") }
  return Dump.write(to: fd, as: format) ? INTURN_OK : refuse("fd")
}

extension inturn_entry {
  fileprivate mutating func fill(with entry: SnapshotEntry) {
    kind = inturn_entry_kind(UInt32(entry.kind.rawValue))
    flags = entry.flags.rawValue
    state = inturn_operation_state(UInt32(entry.state?.rawValue ?? 0))
    cause = inturn_stall_cause(UInt32(entry.cause.rawValue))
    queue_kind = inturn_queue_kind(UInt32(entry.queueKind?.rawValue ?? 0))
    priority = entry.priority
    attempts = entry.attempts
    suspends = entry.suspends
    id = entry.id.bits
    queue = entry.queue.bits
    operation = entry.operation.bits
    other = entry.other.bits
    batch = entry.batch.bits
    owner = entry.owner.bits
    executor = entry.executor.bits
    clock = entry.clock.bits
    token = entry.token.bits
    count = entry.count
    pending = entry.pending
    running = entry.running
    ended = entry.ended
    enqueued_ns = entry.enqueuedAt
    started_ns = entry.startedAt
    at_ns = entry.moment
    if let place = entry.site.line { (file, line) = (place.file, place.number) }
    withUnsafeMutableBytes(of: &label) { room in
      withUnsafeBytes(of: entry.label) { room.copyMemory(from: $0) }
    }
  }
}
