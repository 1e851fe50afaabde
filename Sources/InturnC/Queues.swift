import CInturn
import InturnCore

@_cdecl("inturn_queue_create") @implementation
@_optimize(speed)
public func inturn_queue_create(
  _ kind: inturn_queue_kind, _ options: UnsafePointer<inturn_queue_options>?,
  _ out_queue: UnsafeMutablePointer<inturn_queue>?
) -> inturn_status {
  if let out_queue, let kind = QueueKind(rawValue: UInt8(clamping: kind.rawValue)),
    options.map(hasLabelAlone) ?? true
  {
    let (status, queue) = Engine.createQueue(kind, label: options?.pointee.label)
    if status.isOK { out_queue.pointee.bits = queue.bits }
    return inturn_status(status)
  }
  let given = options.map { sized($0) }
  if case .some(nil) = given { return refuse("options->size") }
  let options = given ?? nil
  var checked = QueueOptions(kind: .fifo)
  let refusal = out_queue == nil ? refuse("out_queue") : check(kind, options, into: &checked)
  guard refusal.isOK, let out_queue else {
    options?.event_destroy?(options?.event_context)
    return inturn_status(refusal)
  }
  let (status, queue) = Engine.createQueue(
    checked, executor: Handle(bits: options?.executor.bits ?? 0),
    clock: Handle(bits: options?.clock.bits ?? 0))
  if status.isOK { out_queue.pointee.bits = queue.bits }
  return inturn_status(status)
}

/// Whether the only option is a label, and it is valid. Read in place: most queues need none of the
/// copies that checking all options makes.
private func hasLabelAlone(_ options: UnsafePointer<inturn_queue_options>) -> Bool {
  let size = UnsafeRawPointer(options).load(as: UInt32.self)
  return size == MemoryLayout<inturn_queue_options>.size && options.pointee.max_concurrent == 0
    && options.pointee.executor.bits | options.pointee.clock.bits | options.pointee.capacity == 0
    && options.pointee.settle_ns | options.pointee.gap_ns | options.pointee.stall_ns == 0
    && options.pointee.rate.max_starts == 0
    && options.pointee.on_event == nil && options.pointee.event_destroy == nil
    && isValidLabel(options.pointee.label)
}

/// Returns the options in the engine's form, or why they are refused.
private func check(
  _ kind: inturn_queue_kind, _ options: inturn_queue_options?, into result: inout QueueOptions,
  in function: StaticString = #function
) -> Status {
  guard let kind = QueueKind(rawValue: UInt8(clamping: kind.rawValue))
  else { return refuse("kind", in: function) }
  result = QueueOptions(kind: kind)
  guard let options else { return .ok }
  func refused(_ field: StaticString) -> Status { refuse("options->", field, in: function) }
  if !isValidLabel(options.label) { return refused("label") }
  guard let settle = delay(options.settle_ns, result.settle) else { return refused("settle_ns") }
  guard let gap = delay(options.gap_ns, result.gap) else { return refused("gap_ns") }
  if kind != .concurrent && options.max_concurrent > 1 { return refused("max_concurrent") }
  guard let rate = startRate(options.rate) else { return refused("rate") }
  result.label = options.label
  result.capacity = options.capacity
  result.limit = options.max_concurrent
  result.settle = settle
  result.gap = gap
  result.rate = rate
  result.stall = StallLimit(options.stall_ns)
  result.onEvent = eventHandler(options)
  return .ok
}

/// A delay, if it is valid; zero stands for the default.
private func delay(_ given: Int64, _ byDefault: Int64) -> Int64? {
  if given == 0 { return byDefault }
  if given == Int64(INTURN_NO_DELAY) { return 0 }
  return given > 0 ? given : nil
}

/// The rate, if it is valid; inner nil for no rate.
private func startRate(_ rate: inturn_rate) -> StartRate?? {
  if rate.max_starts == 0 { return .some(nil) }
  let rate = StartRate(starts: rate.max_starts, interval: rate.interval_ns, burst: rate.burst)
  return rate.map { .some($0) }
}

/// The handler of events, which keeps its context until its last use.
private func eventHandler(_ options: inturn_queue_options) -> Callback<QueueEvent>? {
  let context = CallbackContext(context: options.event_context, destroy: options.event_destroy)
  let function = options.on_event
  if function == nil && options.event_destroy == nil { return nil }
  return Callback(
    call: { event in
      var told = inturn_event(event)
      function?(context.context, &told)
    }, onRelease: { context.release() })
}

extension inturn_event {
  fileprivate init(_ event: QueueEvent) {
    self.init()
    size = UInt32(MemoryLayout<Self>.size)
    kind = inturn_event_kind(event.kind.rawValue)
    if let ended = event.outcome { outcome = inturn_outcome(UInt32(ended.rawValue)) }
    cause = inturn_cause(UInt32(event.cause.rawValue))
    code = event.code
    operation = event.operation
    label = event.label
    at_ns = event.at
  }
}

@_cdecl("inturn_queue_set_executor") @implementation
public func inturn_queue_set_executor(
  _ queue: inturn_queue, _ executor: inturn_executor
) -> inturn_status {
  inturn_status(Engine.setExecutor(Handle(queue), Handle(executor)))
}

@_cdecl("inturn_queue_enqueue") @implementation
public func inturn_queue_enqueue(
  _ queue: inturn_queue, _ work: inturn_work_fn?, _ context: UnsafeMutableRawPointer?,
  _ destroy: inturn_destroy_fn?, _ out_operation: UnsafeMutablePointer<inturn_operation>?
) -> inturn_status {
  inturn_queue_enqueue_at(nil, queue, work, context, destroy, out_operation)
}

@_cdecl("inturn_queue_enqueue_at") @implementation
public func inturn_queue_enqueue_at(
  _ site: UnsafeMutablePointer<inturn_site>?, _ queue: inturn_queue, _ work: inturn_work_fn?,
  _ context: UnsafeMutableRawPointer?, _ destroy: inturn_destroy_fn?,
  _ out_operation: UnsafeMutablePointer<inturn_operation>?
) -> inturn_status {
  // Separate functions, so that neither has to save what only the other one needs.
  guard let out_operation else { return enqueuePlain(site, queue, work, context, destroy) }
  return enqueueHeld(site, queue, work, context, destroy, out_operation)
}

/// The name in reports of the functions without options.
private var enqueueName: StaticString { "inturn_queue_enqueue" }

@_optimize(speed)
@inline(never)
private func enqueuePlain(
  _ site: UnsafeMutablePointer<inturn_site>?, _ queue: inturn_queue, _ work: inturn_work_fn?,
  _ context: UnsafeMutableRawPointer?, _ destroy: inturn_destroy_fn?
) -> inturn_status {
  let status = Engine.enqueue(
    Handle(queue), at: Site(site), work: rawWork(work), context: context, destroy: destroy)
  if status.isOK { return INTURN_OK }
  if let destroy { destroy(context) }
  return refusal(status, work, in: enqueueName)
}

@_optimize(speed)
@inline(never)
private func enqueueHeld(
  _ site: UnsafeMutablePointer<inturn_site>?, _ queue: inturn_queue, _ work: inturn_work_fn?,
  _ context: UnsafeMutableRawPointer?, _ destroy: inturn_destroy_fn?,
  _ out_operation: UnsafeMutablePointer<inturn_operation>
) -> inturn_status {
  enqueueLean(
    Site(site), queue, LeanOptions(), work, context, destroy, out_operation, in: enqueueName)
}

/// Enqueues an operation with few options.
@_optimize(speed)
@inline(__always)
private func enqueueLean(
  _ site: Site, _ queue: inturn_queue, _ lean: LeanOptions, _ work: inturn_work_fn?,
  _ context: UnsafeMutableRawPointer?, _ destroy: inturn_destroy_fn?,
  _ out_operation: UnsafeMutablePointer<inturn_operation>?, in function: StaticString
) -> inturn_status {
  let (status, operation) = Engine.enqueue(
    Handle(queue), at: site, lean: lean, work: rawWork(work), context: context, destroy: destroy,
    wantsHandle: out_operation != nil)
  if status.isOK {
    out_operation?.pointee.bits = operation.bits
    return INTURN_OK
  }
  if let destroy { destroy(context) }
  return refusal(status, work, in: function)
}

/// The options in the form of the engine's short way, if they are valid and it supports them all.
/// Read in place, because they are large and copying takes time.
private func leanOptions(_ options: UnsafePointer<inturn_operation_options>) -> LeanOptions? {
  let size = UnsafeRawPointer(options).load(as: UInt32.self)
  let layout = MemoryLayout<inturn_operation_options>.size
  guard size == layout || (size == 0 && inturn_operation_options.firstSize == layout),
    options.pointee.label == nil, options.pointee.exclusive_count == 0,
    options.pointee.condition == nil, options.pointee.retry == nil,
    options.pointee.max_wait_ns | options.pointee.max_run_ns | options.pointee.stall_ns
      | options.pointee.cancel_grace_ns == 0,
    options.pointee.on_end == nil, options.pointee.end_destroy == nil,
    !options.pointee.barrier, !options.pointee.urgent, !options.pointee.join,
    options.pointee.key == nil, options.pointee.owner.bits == 0,
    options.pointee.max_run_policy == INTURN_MAX_RUN_HOLD,
    options.pointee.after_policy == INTURN_AFTER_ENDED
      || options.pointee.after_policy == INTURN_AFTER_FINISHED,
    let earlier = options.pointee.earlier
  else { return nil }
  var lean = LeanOptions()
  lean.priority = options.pointee.priority
  lean.after = earlier
  lean.needsFinished = options.pointee.after_policy == INTURN_AFTER_FINISHED
  return lean
}

@_cdecl("inturn_queue_enqueue_with") @implementation
public func inturn_queue_enqueue_with(
  _ queue: inturn_queue, _ options: UnsafePointer<inturn_operation_options>?,
  _ work: inturn_work_fn?, _ context: UnsafeMutableRawPointer?, _ destroy: inturn_destroy_fn?,
  _ out_operation: UnsafeMutablePointer<inturn_operation>?
) -> inturn_status {
  inturn_queue_enqueue_with_at(nil, queue, options, work, context, destroy, out_operation)
}

@_cdecl("inturn_queue_enqueue_with_at") @implementation
@_optimize(speed)
public func inturn_queue_enqueue_with_at(
  _ site: UnsafeMutablePointer<inturn_site>?, _ queue: inturn_queue,
  _ options: UnsafePointer<inturn_operation_options>?, _ work: inturn_work_fn?,
  _ context: UnsafeMutableRawPointer?, _ destroy: inturn_destroy_fn?,
  _ out_operation: UnsafeMutablePointer<inturn_operation>?
) -> inturn_status {
  guard let options else {
    return inturn_queue_enqueue_at(site, queue, work, context, destroy, out_operation)
  }
  let site = Site(site)
  let function: StaticString = "inturn_queue_enqueue_with"
  if let lean = leanOptions(options) {
    return enqueueLean(site, queue, lean, work, context, destroy, out_operation, in: function)
  }
  let status = withSized(options) {
    enqueue(site, queue, checking: $0, work, context, destroy, out_operation, in: function)
  }
  if let status { return status }
  destroy?(context)
  return refuse("options->size", in: function)
}

/// Enqueues an operation with any options.
private func enqueue(
  _ site: Site, _ queue: inturn_queue, checking options: UnsafePointer<inturn_operation_options>,
  _ work: inturn_work_fn?, _ context: UnsafeMutableRawPointer?, _ destroy: inturn_destroy_fn?,
  _ out_operation: UnsafeMutablePointer<inturn_operation>?, in function: StaticString
) -> inturn_status {
  var checked = OperationOptions()
  var status = check(options, "options->", into: &checked, in: function)
  if status.isOK {
    let (result, operation) = withUnsafePointer(to: &checked) {
      Engine.enqueue(
        Handle(queue), at: site, optionsAt: $0, work: rawWork(work), context: context,
        destroy: destroy, wantsHandle: out_operation != nil)
    }
    if result.isOK { out_operation?.pointee.bits = operation.bits }
    status = result
  }
  if !status.isOK {
    destroy?(context)
    options.pointee.end_destroy?(options.pointee.end_context)
    return work == nil ? refusal(status, work, in: function) : inturn_status(status)
  }
  return INTURN_OK
}

@_optimize(speed)
private func wrongField(of options: UnsafePointer<inturn_operation_options>) -> StaticString? {
  if !isValidLabel(options.pointee.label) { return "label" }
  if options.pointee.max_wait_ns < 0 { return "max_wait_ns" }
  if options.pointee.max_run_ns < 0 { return "max_run_ns" }
  if options.pointee.stall_ns < 0 { return "stall_ns" }
  if options.pointee.cancel_grace_ns < 0 { return "cancel_grace_ns" }
  if options.pointee.max_run_policy != INTURN_MAX_RUN_HOLD
    && options.pointee.max_run_policy != INTURN_MAX_RUN_FREE
  {
    return "max_run_policy"
  }
  if options.pointee.after_policy != INTURN_AFTER_ENDED
    && options.pointee.after_policy != INTURN_AFTER_FINISHED
  {
    return "after_policy"
  }
  if !isValidLabel(options.pointee.key) { return "key" }
  return options.pointee.join && options.pointee.key == nil ? "join, without a key" : nil
}

/// Returns the options in the engine's form, or why they are refused. `prefix` is the caller's name
/// for them.
@_optimize(speed)
func check(
  _ options: UnsafePointer<inturn_operation_options>, _ prefix: StaticString,
  into result: inout OperationOptions, in function: StaticString = #function
) -> Status {
  func refused(_ field: StaticString) -> Status { refuse(prefix, field, in: function) }
  if let field = wrongField(of: options) { return refused(field) }
  guard let earlier = options.pointee.earlier else { return refused("after_count") }
  guard let names = options.pointee.names else { return refused("exclusive") }
  if let field = addRetry(options, to: &result) { return refused(field) }
  result.label = options.pointee.label
  result.maxWait = options.pointee.max_wait_ns
  result.maxRun = options.pointee.max_run_ns
  result.freesPlaceAtMaxRun = options.pointee.max_run_policy == INTURN_MAX_RUN_FREE
  result.stall = options.pointee.stall_ns
  result.grace = options.pointee.cancel_grace_ns
  result.priority = options.pointee.priority
  result.isBarrier = options.pointee.barrier
  result.isUrgent = options.pointee.urgent
  result.after = earlier
  result.needsFinished = options.pointee.after_policy == INTURN_AFTER_FINISHED
  result.names = names
  result.key = options.pointee.key
  result.joins = options.pointee.join
  result.condition = unsafeBitCast(options.pointee.condition, to: RawCondition?.self)
  if let function = options.pointee.on_end {
    result.endCallback = EndCallback(
      function: unsafeBitCast(function, to: EndCallback.Function.self),
      call: callEndFunction, context: options.pointee.end_context,
      destroy: options.pointee.end_destroy)
  } else {
    result.endCallback.context = options.pointee.end_context
    result.endCallback.destroy = options.pointee.end_destroy
  }
  if options.pointee.owner.bits == 0 { return .ok }
  let (status, owner) = Engine.owner(Handle(options.pointee.owner))
  result.owner = owner
  return status
}

extension inturn_operation_options {
  /// Nil when a name is invalid.
  @inline(__always)
  fileprivate var names: UnsafeBufferPointer<UnsafePointer<CChar>>? {
    guard let names = array(exclusive, exclusive_count, most: Int(Int32.max)),
      names.allSatisfy({ name($0) != nil })
    else { return nil }
    // None of them is NULL.
    return UnsafeRawBufferPointer(names).assumingMemoryBound(to: UnsafePointer<CChar>.self)
  }
}

/// Adds the retry policy. Returns the name of the field that is wrong, if one is.
private func addRetry(
  _ options: UnsafePointer<inturn_operation_options>, to result: inout OperationOptions
) -> StaticString? {
  guard let given = options.pointee.retry else { return nil }
  guard let retry = sized(given) else { return "retry->size" }
  if retry.delay_ns < 0 { return "retry->delay_ns" }
  if retry.max_delay_ns < 0 { return "retry->max_delay_ns" }
  var policy = RetryPolicy()
  policy.maximumAttempts = retry.max_attempts
  policy.delay = retry.delay_ns
  policy.factor = retry.factor == 0 ? 1 : retry.factor
  policy.maximumDelay = retry.max_delay_ns
  policy.jitter = retry.jitter
  policy.isOfFailuresOnly = retry.only_failures
  policy.decide = retry.decide
  result.retry = policy
  if policy.isValid { return nil }
  return (0...1).contains(policy.jitter) ? "retry->factor" : "retry->jitter"
}

/// Calls an `inturn_end_fn` for the engine.
private func callEndFunction(
  _ function: EndCallback.Function, _ context: UnsafeMutableRawPointer?, _ end: OperationEnd
) {
  var end = inturn_end(end)
  unsafeBitCast(function, to: inturn_end_fn.self)(context, &end)
}

@_cdecl("inturn_queue_set_rate") @implementation
public func inturn_queue_set_rate(
  _ queue: inturn_queue, _ rate: UnsafePointer<inturn_rate>?
) -> inturn_status {
  guard let rate = startRate(rate?.pointee ?? inturn_rate()) else {
    return refuse("rate")
  }
  return inturn_status(Engine.setRate(rate, of: Handle(queue)))
}

@_cdecl("inturn_queue_set_max_concurrent") @implementation
public func inturn_queue_set_max_concurrent(
  _ queue: inturn_queue, _ max_concurrent: UInt32
) -> inturn_status {
  inturn_status(Engine.setLimit(max_concurrent, of: Handle(queue)))
}

@_cdecl("inturn_queue_suspend") @implementation
public func inturn_queue_suspend(_ queue: inturn_queue) -> inturn_status {
  inturn_queue_suspend_at(nil, queue)
}

@_cdecl("inturn_queue_suspend_at") @implementation
public func inturn_queue_suspend_at(
  _ site: UnsafeMutablePointer<inturn_site>?, _ queue: inturn_queue
) -> inturn_status {
  inturn_status(Engine.suspend(Handle(queue), at: Site(site)))
}

@_cdecl("inturn_queue_resume") @implementation
public func inturn_queue_resume(_ queue: inturn_queue) -> inturn_status {
  inturn_status(Engine.resume(Handle(queue)))
}

@_cdecl("inturn_queue_suspend_for") @implementation
public func inturn_queue_suspend_for(
  _ queue: inturn_queue, _ reason: UnsafePointer<CChar>?
) -> inturn_status {
  inturn_queue_suspend_for_at(nil, queue, reason)
}

@_cdecl("inturn_queue_suspend_for_at") @implementation
public func inturn_queue_suspend_for_at(
  _ site: UnsafeMutablePointer<inturn_site>?, _ queue: inturn_queue,
  _ reason: UnsafePointer<CChar>?
) -> inturn_status {
  guard let reason = name(reason) else { return refuse("reason", in: "inturn_queue_suspend_for") }
  return inturn_status(Engine.suspend(Handle(queue), at: Site(site), reason: reason))
}

@_cdecl("inturn_queue_resume_for") @implementation
public func inturn_queue_resume_for(
  _ queue: inturn_queue, _ reason: UnsafePointer<CChar>?
) -> inturn_status {
  guard let reason = name(reason) else { return refuse("reason") }
  return inturn_status(Engine.resume(Handle(queue), reason: reason))
}

@_cdecl("inturn_queue_view_did_appear") @implementation
public func inturn_queue_view_did_appear(_ queue: inturn_queue) -> inturn_status {
  inturn_status(Engine.setVisible(Handle(queue), true))
}

@_cdecl("inturn_queue_view_will_disappear") @implementation
public func inturn_queue_view_will_disappear(_ queue: inturn_queue) -> inturn_status {
  inturn_status(Engine.setVisible(Handle(queue), false))
}

@_cdecl("inturn_queue_resolve_key") @implementation
public func inturn_queue_resolve_key(
  _ queue: inturn_queue, _ key: UnsafePointer<CChar>?, _ out_count: UnsafeMutablePointer<UInt64>?
) -> inturn_status {
  guard let key = name(key) else { return refuse("key") }
  let (status, count) = Engine.resolve(key, of: Handle(queue))
  if status.isOK { out_count?.pointee = count }
  return inturn_status(status)
}

@_cdecl("inturn_queue_cancel_key") @implementation
public func inturn_queue_cancel_key(
  _ queue: inturn_queue, _ key: UnsafePointer<CChar>?, _ out_count: UnsafeMutablePointer<UInt64>?
) -> inturn_status {
  guard let key = name(key) else { return refuse("key") }
  let (status, count) = Engine.cancel(key, of: Handle(queue))
  if status.isOK { out_count?.pointee = count }
  return inturn_status(status)
}

@_cdecl("inturn_queue_cancel_all") @implementation
public func inturn_queue_cancel_all(_ queue: inturn_queue) -> inturn_status {
  inturn_status(Engine.cancelAll(Handle(queue)))
}

@_cdecl("inturn_queue_cancel_pending") @implementation
public func inturn_queue_cancel_pending(_ queue: inturn_queue) -> inturn_status {
  inturn_status(Engine.cancelAll(Handle(queue), areRunningAsked: false))
}

@_cdecl("inturn_queue_close") @implementation
public func inturn_queue_close(_ queue: inturn_queue) -> inturn_status {
  inturn_status(Engine.close(Handle(queue)))
}

@_cdecl("inturn_queue_drain") @implementation
public func inturn_queue_drain(_ queue: inturn_queue, _ timeout_ns: Int64) -> inturn_status {
  Site.afterWait(Engine.drain(Handle(queue), timeoutNanoseconds: timeout_ns))
}

@_cdecl("inturn_queue_drain_or_list") @implementation
public func inturn_queue_drain_or_list(
  _ queue: inturn_queue, _ timeout_ns: Int64,
  _ infos: UnsafeMutablePointer<inturn_operation_info>?, _ room: Int,
  _ out_count: UnsafeMutablePointer<Int>?
) -> inturn_status {
  defer { Site.forgetWait() }
  var list = InfoList(infos, room)
  guard let out_count, list.isThere else {
    let status = Engine.drain(Handle(queue), timeoutNanoseconds: 0)
    guard status.isOK || status == .timedOut else { return inturn_status(status) }
    return refuse(out_count == nil ? "out_count" : infos == nil ? "infos" : "infos->size")
  }
  let status = Engine.drain(Handle(queue), timeoutNanoseconds: timeout_ns) { list.add($0) }
  if status.isOK || status == .timedOut { out_count.pointee = list.count }
  return inturn_status(status)
}

@_cdecl("inturn_queue_destroy") @implementation
public func inturn_queue_destroy(_ queue: inturn_queue) -> inturn_status {
  Site.afterWait(Engine.destroy(queue: Handle(queue)))
}
