import CInturn
import InturnCore

@_cdecl("inturn_queue_get_statistics") @implementation
public func inturn_queue_get_statistics(
  _ queue: inturn_queue, _ out_statistics: UnsafeMutablePointer<inturn_queue_statistics>?
) -> inturn_status {
  let (status, statistics) = Engine.statistics(of: Handle(queue))
  if !status.isOK { return inturn_status(status) }
  var result = inturn_queue_statistics()
  result.suspends = statistics.suspends
  result.pending = statistics.pending
  result.running = statistics.running
  result.finished = statistics.finished
  result.failed = statistics.failed
  result.cancelled = statistics.cancelled
  result.next_start_ns = statistics.nextStart
  result.timed_out = statistics.timedOut
  result.abandoned = statistics.abandoned
  guard let out_statistics, fill(out_statistics, result) else { return INTURN_E_INVALID_ARGUMENT }
  return INTURN_OK
}

@_cdecl("inturn_queue_list") @implementation
public func inturn_queue_list(
  _ queue: inturn_queue, _ infos: UnsafeMutablePointer<inturn_operation_info>?, _ room: Int,
  _ out_count: UnsafeMutablePointer<Int>?
) -> inturn_status {
  // Room that no number of operations fills is as good as any.
  let room = Int(clamping: UInt(bitPattern: room))
  var count = 0
  // Without room, not even the first one's size is there to be read.
  let stride = infos.flatMap { room > 0 ? sizeOfEach(in: $0) : nil }
  let status = Engine.list(Handle(queue)) { info in
    guard let infos, let stride, count < room else { return false }
    let place = UnsafeMutableRawPointer(infos) + count * stride
    place.storeBytes(of: UInt32(stride), as: UInt32.self)
    fill(place.assumingMemoryBound(to: inturn_operation_info.self), inturn_operation_info(info))
    count += 1
    return count < room
  }
  if !status.isOK { return inturn_status(status) }
  guard let out_count, stride != nil || room == 0 else { return INTURN_E_INVALID_ARGUMENT }
  out_count.pointee = count
  return INTURN_OK
}

extension inturn_operation_info {
  fileprivate init(_ info: OperationInfo) {
    self.init()
    state = inturn_operation_state(UInt32(info.state.rawValue))
    cancelled = info.isCancelled
    enqueued_ns = info.enqueuedAt
    started_ns = info.startedAt
    guard let text = info.label else { return }
    withUnsafeMutableBytes(of: &label) { copy(text, to: $0) }
  }
}

/// Copies a string, cut at a character's end where it is too long.
private func copy(_ text: UnsafePointer<CChar>, to room: UnsafeMutableRawBufferPointer) {
  var length = 0
  while length < room.count && text[length] != 0 { length += 1 }
  if length == room.count {
    length -= 1
    // Not in the middle of a character: bytes that go on with one begin with the bits 10.
    while length > 0 && UInt8(bitPattern: text[length]) & 0xC0 == 0x80 { length -= 1 }
  }
  room.copyMemory(from: UnsafeRawBufferPointer(start: text, count: length))
  room[length] = 0
}

@_cdecl("inturn_get_statistics") @implementation
public func inturn_get_statistics(
  _ out_statistics: UnsafeMutablePointer<inturn_library_statistics>?
) -> inturn_status {
  guard Engine.isThere else { return INTURN_E_NO_MEMORY }
  let statistics = Engine.statistics
  var result = inturn_library_statistics()
  result.workers = statistics.workers
  result.queues = statistics.queues
  result.operations = statistics.operations
  result.executors = statistics.executors
  result.clocks = statistics.clocks
  result.values = statistics.values
  result.observations = statistics.observations
  guard let out_statistics, fill(out_statistics, result) else { return INTURN_E_INVALID_ARGUMENT }
  return INTURN_OK
}

@_cdecl("inturn_set_report_handler") @implementation
public func inturn_set_report_handler(
  _ handler: inturn_report_fn?, _ context: UnsafeMutableRawPointer?,
  _ destroy: inturn_destroy_fn?
) -> inturn_status {
  let callback = CallbackContext(context: context, destroy: destroy)
  guard Engine.hasMemory else {
    callback.release()
    return INTURN_E_NO_MEMORY
  }
  guard let handler else {
    Engine.setReportHandler(nil)
    callback.release()
    return INTURN_OK
  }
  Engine.setReportHandler(
    ReportHandler(
      call: { report in
        withOptionalCString(report.queueLabel) { queueLabel in
          withOptionalCString(report.operationLabel) { operationLabel in
            report.message.withCString { message in
              var report = inturn_report(
                size: UInt32(MemoryLayout<inturn_report>.size),
                kind: inturn_report_kind(UInt32(report.kind.rawValue)), message: message,
                queue_label: queueLabel, operation_label: operationLabel)
              handler(callback.context, &report)
            }
          }
        }
      },
      onRelease: { callback.release() }))
  return INTURN_OK
}

private func withOptionalCString(
  _ text: String?, _ body: (UnsafePointer<CChar>?) -> Void
) {
  if let text { text.withCString { body($0) } } else { body(nil) }
}
