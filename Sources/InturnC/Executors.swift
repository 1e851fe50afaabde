import CInturn
import InturnCore

private let maximumWorkers: UInt32 = 1024

@_cdecl("inturn_executor_create") @implementation
public func inturn_executor_create(
  _ options: UnsafePointer<inturn_executor_options>?,
  _ out_executor: UnsafeMutablePointer<inturn_executor>?
) -> inturn_status {
  let given = options.map { sized($0) }
  if case .some(nil) = given { return refuse("options->size") }
  let options = (given ?? nil) ?? inturn_executor_options()
  let wake = CallbackContext(context: options.wake_context, destroy: options.wake_destroy)
  func refused(_ status: inturn_status) -> inturn_status {
    wake.release()
    return status
  }
  if let field = wrongField(of: options) { return refused(refuse("options->", field)) }
  guard let out_executor else { return refused(refuse("out_executor")) }
  guard Engine.hasMemory else { return refused(INTURN_E_NO_MEMORY) }
  let label = options.label.map { Text(cString: $0) }
  let executor: Handle?
  if options.workers > 0 {
    wake.release()
    executor = Engine.createPool(
      workers: Int(options.workers), maximum: Int(options.max_workers), label: label)
  } else {
    executor = Engine.createHostExecutor(
      label: label, waker: waker(options.wake, wake), places: max(1, options.host_threads))
  }
  guard let executor else { return INTURN_E_NO_MEMORY }
  out_executor.pointee.bits = executor.bits
  return INTURN_OK
}

private func wrongField(of options: inturn_executor_options) -> StaticString? {
  let (isPool, most) = (options.workers > 0, options.max_workers)
  if options.workers > maximumWorkers { return "workers" }
  if isPool
    ? most > maximumWorkers + 64 || most != 0 && most < options.workers : most != 0
  {
    return "max_workers"
  }
  if isPool ? options.host_threads != 0 : options.host_threads > maximumWorkers {
    return "host_threads"
  }
  if isPool && options.wake != nil { return "wake" }
  return isValidLabel(options.label) ? nil : "label"
}

/// The engine's form of a wake callback; without a function, only keeps the context.
private func waker(
  _ wake: inturn_wake_fn?, _ context: CallbackContext
) -> HostExecutor.Waker? {
  guard let wake else {
    context.release()
    return nil
  }
  return HostExecutor.Waker(call: { _ in wake(context.context) }, onRelease: { context.release() })
}

@_cdecl("inturn_executor_main") @implementation
public func inturn_executor_main(
  _ out_executor: UnsafeMutablePointer<inturn_executor>?
) -> inturn_status {
  give(Engine.mainExecutor, to: out_executor)
}

@_cdecl("inturn_executor_pool") @implementation
public func inturn_executor_pool(
  _ out_executor: UnsafeMutablePointer<inturn_executor>?
) -> inturn_status {
  give(Engine.poolExecutor, to: out_executor)
}

/// Gives an executor that is there from the beginning.
private func give(
  _ executor: @autoclosure () -> Handle, to out_executor: UnsafeMutablePointer<inturn_executor>?,
  in function: StaticString = #function
) -> inturn_status {
  guard let out_executor else { return refuse("out_executor", in: function) }
  guard Engine.isThere else { return INTURN_E_NO_MEMORY }
  out_executor.pointee.bits = executor().bits
  return INTURN_OK
}

@_cdecl("inturn_executor_set_wake") @implementation
public func inturn_executor_set_wake(
  _ executor: inturn_executor, _ wake: inturn_wake_fn?, _ context: UnsafeMutableRawPointer?,
  _ destroy: inturn_destroy_fn?
) -> inturn_status {
  let callback = CallbackContext(context: context, destroy: destroy)
  return withHost(executor, onRefusal: { callback.release() }) {
    guard Engine.hasMemory else {
      callback.release()
      return .noMemory
    }
    $0.setWaker(waker(wake, callback))
    return .ok
  }
}

@_cdecl("inturn_executor_fd") @implementation
public func inturn_executor_fd(
  _ executor: inturn_executor, _ out_fd: UnsafeMutablePointer<CInt>?
) -> inturn_status {
  withHost(executor) {
    guard let out_fd else { return refuse("out_fd") }
    guard let descriptor = $0.descriptor() else { return .noMemory }
    out_fd.pointee = descriptor
    return .ok
  }
}

@_cdecl("inturn_executor_attach") @implementation
public func inturn_executor_attach(
  _ executor: inturn_executor, _ loop: UnsafePointer<CChar>?, _ data: UnsafeMutableRawPointer?
) -> inturn_status {
  withHost(executor) {
    guard let loop, isValidLabel(loop) else { return refuse("loop") }
    guard Engine.hasMemory else { return .noMemory }
    let status = $0.attach(loop: Text(cString: loop), data: data)
    return status == .invalidArgument ? refuse("loop") : status
  }
}

@_cdecl("inturn_executor_get_attached") @implementation
public func inturn_executor_get_attached(
  _ executor: inturn_executor, _ loop: UnsafePointer<CChar>?,
  _ out_data: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> inturn_status {
  withHost(executor) {
    guard let loop, isValidLabel(loop) else { return refuse("loop") }
    guard let out_data else { return refuse("out_data") }
    let (status, data) = $0.attachedData(loop: Text(cString: loop))
    if status.isOK { out_data.pointee = data }
    return status == .invalidArgument ? refuse("loop") : status
  }
}

@_cdecl("inturn_executor_detach") @implementation
public func inturn_executor_detach(
  _ executor: inturn_executor, _ loop: UnsafePointer<CChar>?
) -> inturn_status {
  withHost(executor) {
    guard let loop, isValidLabel(loop) else { return refuse("loop") }
    let status = $0.detach(loop: Text(cString: loop))
    return status == .invalidArgument ? refuse("loop") : status
  }
}

@_cdecl("inturn_executor_drain") @implementation
public func inturn_executor_drain(
  _ executor: inturn_executor, _ max_calls: UInt32, _ out_calls: UnsafeMutablePointer<UInt32>?
) -> inturn_status {
  withHost(executor) {
    let maximum = max_calls == 0 ? Int.max : Int(max_calls)
    let (status, calls) = $0.drain(maximumCalls: maximum)
    if status.isOK { out_calls?.pointee = UInt32(clamping: calls) }
    return status
  }
}

/// How many other calls a take makes at most.
private let callsBeforeTaken = 64

@_cdecl("inturn_executor_take") @implementation
public func inturn_executor_take(
  _ executor: inturn_executor, _ work: inturn_work_fn?, _ finished: inturn_token,
  _ out_taken: UnsafeMutablePointer<inturn_taken>?
) -> inturn_status {
  withHost(executor) {
    guard let work else { return refuse("work") }
    return take($0, work, out_taken) {
      if finished.bits != 0 { _ = Engine.end(Handle(finished), as: .finished) }
    }
  }
}

@_cdecl("inturn_executor_enqueue_and_take") @implementation
public func inturn_executor_enqueue_and_take(
  _ site: UnsafeMutablePointer<inturn_site>?, _ executor: inturn_executor, _ queue: inturn_queue,
  _ work: inturn_work_fn?,
  _ context: UnsafeMutableRawPointer?, _ destroy: inturn_destroy_fn?,
  _ out_operation: UnsafeMutablePointer<inturn_operation>?,
  _ out_taken: UnsafeMutablePointer<inturn_taken>?
) -> inturn_status {
  var enqueued: inturn_status?
  let status = withHost(executor) {
    guard let work else { return refuse("work") }
    return take($0, work, out_taken) {
      enqueued = inturn_queue_enqueue_at(site, queue, work, context, destroy, out_operation)
    }
  }
  guard let enqueued else {
    destroy?(context)
    return status
  }
  guard status == INTURN_OK, enqueued == INTURN_OK else {
    return status == INTURN_OK ? enqueued : status
  }
  if let out_operation, let out_taken {
    let operation = Handle(out_operation.pointee)
    if operation.isOfSame(as: Handle(out_taken.pointee.token)) {
      _ = Engine.release(operation)
      out_operation.pointee.bits = 0
    }
  }
  return INTURN_OK
}

private func take(
  _ host: HostExecutor, _ work: inturn_work_fn,
  _ out_taken: UnsafeMutablePointer<inturn_taken>?, in function: StaticString = #function,
  after step: () -> Void
) -> Status {
  guard let out_taken else { return refuse("out_taken", in: function) }
  var budget = DrainBudget(remaining: callsBeforeTaken, wanted: rawWork(work))
  let status = host.drain(&budget, looks: true, after: step)
  if status.isOK {
    out_taken.pointee.context = budget.given?.context
    out_taken.pointee.token.bits = budget.given?.token.bits ?? 0
  }
  return status
}

@_cdecl("inturn_executor_wait") @implementation
public func inturn_executor_wait(
  _ executor: inturn_executor, _ timeout_ns: Int64,
  _ out_waiting: UnsafeMutablePointer<UInt32>?
) -> inturn_status {
  withHost(executor) {
    let (status, waiting) = $0.waitForWork(timeoutNanoseconds: timeout_ns)
    if status != .wrongThread { out_waiting?.pointee = waiting }
    return status
  }
}

@_cdecl("inturn_executor_run") @implementation
public func inturn_executor_run(_ executor: inturn_executor) -> inturn_status {
  withHost(executor) { $0.run() }
}

@_cdecl("inturn_executor_stop") @implementation
public func inturn_executor_stop(_ executor: inturn_executor) -> inturn_status {
  withHost(executor) {
    $0.stop()
    return .ok
  }
}

@_cdecl("inturn_executor_destroy") @implementation
public func inturn_executor_destroy(_ executor: inturn_executor) -> inturn_status {
  inturn_status(Engine.destroy(executor: Handle(executor)))
}

private func withHost(
  _ executor: inturn_executor, onRefusal: () -> Void = {}, _ body: (HostExecutor) -> Status
) -> inturn_status {
  let (status, host) = Engine.hostExecutor(Handle(executor))
  guard let host else {
    onRefusal()
    return inturn_status(status)
  }
  return inturn_status(body(host))
}
