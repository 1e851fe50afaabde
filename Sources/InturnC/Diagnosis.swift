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
  result.failed = statistics.ends.failed
  result.cancelled = statistics.ends.cancelled
  result.next_start_ns = statistics.nextStart
  result.timed_out = statistics.ends.timedOut
  result.abandoned = statistics.ends.abandoned
  guard let out_statistics else { return refuse("out_statistics") }
  guard fill(out_statistics, result) else { return refuse("out_statistics->size") }
  return INTURN_OK
}

@_cdecl("inturn_queue_list") @implementation
public func inturn_queue_list(
  _ queue: inturn_queue, _ infos: UnsafeMutablePointer<inturn_operation_info>?, _ room: Int,
  _ out_count: UnsafeMutablePointer<Int>?
) -> inturn_status {
  var list = InfoList(infos, room)
  let status = Engine.list(Handle(queue)) { list.add($0) }
  if !status.isOK { return inturn_status(status) }
  guard let out_count else { return refuse("out_count") }
  guard list.isThere else { return refuse(infos == nil ? "infos" : "infos->size") }
  out_count.pointee = list.count
  return INTURN_OK
}

/// The caller's array, which is filled with operations.
struct InfoList {
  private let infos: UnsafeMutablePointer<inturn_operation_info>?
  private let stride: Int?
  private let room: Int
  private(set) var count = 0

  init(_ infos: UnsafeMutablePointer<inturn_operation_info>?, _ room: Int) {
    self.infos = infos
    // More room than can be counted is as good as the most that can.
    self.room = Int(clamping: UInt(bitPattern: room))
    // Without room, the first element's size cannot be read either.
    stride = room == 0 ? nil : infos.flatMap { sizeOfEach(in: $0) }
  }

  /// False when there should be room but there is no memory, or the elements' size is invalid.
  var isThere: Bool { stride != nil || room == 0 }

  /// False when the array is full.
  mutating func add(_ info: OperationInfo) -> Bool {
    guard let infos, let stride, count < room else { return false }
    let place = UnsafeMutableRawPointer(infos) + count * stride
    place.storeBytes(of: UInt32(stride), as: UInt32.self)
    fill(place.assumingMemoryBound(to: inturn_operation_info.self), inturn_operation_info(info))
    count += 1
    return count < room
  }
}

extension inturn_operation_info {
  fileprivate init(_ info: OperationInfo) {
    self.init()
    state = inturn_operation_state(UInt32(info.state.rawValue))
    cancelled = info.isCancelled
    enqueued_ns = info.enqueuedAt
    started_ns = info.startedAt
    guard let text = info.label else { return }
    withUnsafeMutableBytes(of: &label) { cutText(text, to: $0) }
  }
}

@_cdecl("inturn_library_get_statistics") @implementation
public func inturn_library_get_statistics(
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
  guard let out_statistics else { return refuse("out_statistics") }
  guard fill(out_statistics, result) else { return refuse("out_statistics->size") }
  return INTURN_OK
}

@_cdecl("inturn_report_send") @implementation
public func inturn_report_send(_ report: UnsafePointer<inturn_report>?) -> inturn_status {
  guard let report else { return refuse("report") }
  guard let report = sized(report) else { return refuse("report->size") }
  guard let kind = Report.Kind(rawValue: Int32(bitPattern: report.kind.rawValue))
  else { return refuse("report->kind") }
  guard let message = name(report.message) else { return refuse("report->message") }
  if !isValidLabel(report.queue_label) { return refuse("report->queue_label") }
  if !isValidLabel(report.operation_label) { return refuse("report->operation_label") }
  guard Engine.hasMemory else { return INTURN_E_NO_MEMORY }
  Report(
    kind: kind, message: Text(cString: message),
    queueLabel: report.queue_label.map(Text.init(cString:)),
    operationLabel: report.operation_label.map(Text.init(cString:))
  ).send()
  return INTURN_OK
}

@_cdecl("inturn_report_set_handler") @implementation
public func inturn_report_set_handler(
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
      call: { report in report.tell(handler, callback.context) },
      onRelease: { callback.release() }))
  return INTURN_OK
}

@_cdecl("inturn_report_set_awaited") @implementation
public func inturn_report_set_awaited(_ id: UInt64) -> inturn_status {
  inturn_status(Engine.setAwaited(Handle(bits: id)))
}

@_cdecl("inturn_report_wait_at") @implementation
public func inturn_report_wait_at(_ site: UnsafeMutablePointer<inturn_site>?) -> inturn_status {
  Site.ofWait = Site(site)
  return INTURN_OK
}

@_cdecl("inturn_await_begin") @implementation
public func inturn_await_begin(
  _ awaited: UInt64, _ inside: UnsafePointer<inturn_token>?, _ count: Int,
  _ out_await: UnsafeMutablePointer<inturn_await>?
) -> inturn_status {
  defer { Site.forgetWait() }
  guard let out_await else { return refuse("out_await") }
  guard inside != nil || count == 0 else { return refuse("inside") }
  guard (0...Engine.maximumOperations).contains(count) else { return refuse("count") }
  let tokens = UnsafeBufferPointer(start: inside, count: count).map { Handle(bits: $0.bits) }
  let (status, handle) = Engine.beginAwait(of: Handle(bits: awaited), inside: tokens)
  if status.isOK { out_await.pointee.bits = handle.bits }
  return inturn_status(status)
}

@_cdecl("inturn_await_end") @implementation
public func inturn_await_end(_ await: inturn_await) -> inturn_status {
  inturn_status(Engine.endAwait(Handle(bits: `await`.bits)))
}

@_cdecl("inturn_report_set_stall_limit") @implementation
public func inturn_report_set_stall_limit(_ limit_ns: Int64) -> inturn_status {
  guard Engine.hasMemory else { return INTURN_E_NO_MEMORY }
  Engine.setStallLimit(StallLimit(limit_ns))
  return INTURN_OK
}

@_cdecl("inturn_why") @implementation
public func inturn_why(
  _ operation: inturn_operation, _ tell: inturn_report_fn?, _ context: UnsafeMutableRawPointer?
) -> inturn_status {
  let (status, report) = Engine.reason(for: Handle(operation))
  if !status.isOK { return inturn_status(status) }
  guard let tell else { return refuse("tell") }
  report?.tell(tell, context)
  return INTURN_OK
}

extension Report {
  /// Calls the function with the report in C's form, whose texts are copies that live during the call.
  @inline(never)
  fileprivate func tell(_ function: inturn_report_fn, _ context: UnsafeMutableRawPointer?) {
    var texts: [UnsafeMutablePointer<CChar>] = []
    func copy(_ text: Text?) -> UnsafePointer<CChar>? {
      guard let copy = text?.withCString({ $0.copied() }) else { return nil }
      texts.append(copy)
      return UnsafePointer(copy)
    }
    var chain: [inturn_stall_link] = []
    for link in stall?.links ?? [] {
      var next = inturn_stall_link()
      next.size = UInt32(MemoryLayout<inturn_stall_link>.stride)
      next.cause = inturn_stall_cause(UInt32(link.cause.rawValue))
      next.queue_label = copy(link.queueLabel)
      next.operation_label = copy(link.operationLabel)
      next.is_operation = link.isOperation
      next.thread = link.thread
      if let line = link.site.line { (next.file, next.function, next.line) = line.inC }
      chain.append(next)
    }
    var told = inturn_report()
    told.size = UInt32(MemoryLayout<inturn_report>.size)
    told.kind = inturn_report_kind(UInt32(kind.rawValue))
    told.message = copy(message)
    told.queue_label = copy(queueLabel)
    told.operation_label = copy(operationLabel)
    told.stalled_ns = stall?.nanoseconds ?? 0
    told.waiting = stall?.waiting ?? 0
    if let line = site.line { (told.file, told.function, told.line) = line.inC }
    chain.withUnsafeMutableBufferPointer { links in
      told.chain = links.isEmpty ? nil : UnsafePointer(links.baseAddress)
      told.chain_count = links.count
      let steps = stall.flatMap { Trace.lastSteps(of: $0) }
      told.steps = UnsafePointer(steps)
      told.token_copy = stall?.copyOfToken
      // No copy of a token is left behind: see `StallLink`.
      for place in links.indices { links[place].token.bits = stall?.links[place].token ?? 0 }
      function(context, &told)
      for place in links.indices { links[place].token.bits = 0 }
      free(steps)
    }
    for text in texts { text.deallocate() }
  }
}

extension SiteTable.Line {
  fileprivate var inC: (UnsafePointer<CChar>, UnsafePointer<CChar>?, UInt32) {
    (file, function, number)
  }
}
