import CInturn
import InturnCore

@_cdecl("inturn_operation_get_state") @implementation
public func inturn_operation_get_state(
  _ operation: inturn_operation, _ out_state: UnsafeMutablePointer<inturn_operation_state>?
) -> inturn_status {
  give(Engine.state(of: Handle(operation)), to: out_state, "out_state") {
    inturn_operation_state(UInt32($0.rawValue))
  }
}

@_cdecl("inturn_operation_cancel") @implementation
public func inturn_operation_cancel(_ operation: inturn_operation) -> inturn_status {
  inturn_status(Engine.cancel(Handle(operation)))
}

@_cdecl("inturn_operation_wait") @implementation
public func inturn_operation_wait(
  _ operation: inturn_operation, _ timeout_ns: Int64, _ out_end: UnsafeMutablePointer<inturn_end>?
) -> inturn_status {
  defer { Site.forgetWait() }
  guard canBeFilled(out_end) else { return refuse("out_end->size") }
  let (status, end) = Engine.wait(for: Handle(operation), timeoutNanoseconds: timeout_ns)
  if let end, let out_end { fill(out_end, inturn_end(end)) }
  return inturn_status(status)
}

@_cdecl("inturn_operation_get_progress") @implementation
public func inturn_operation_get_progress(
  _ operation: inturn_operation, _ out_completed: UnsafeMutablePointer<Int64>?,
  _ out_total: UnsafeMutablePointer<Int64>?
) -> inturn_status {
  let (status, progress) = Engine.progress(of: Handle(operation))
  if status.isOK {
    out_completed?.pointee = progress.completed
    out_total?.pointee = progress.total
  }
  return inturn_status(status)
}

@_cdecl("inturn_operation_release") @implementation
public func inturn_operation_release(_ operation: inturn_operation) -> inturn_status {
  inturn_status(Engine.release(Handle(operation)))
}

extension inturn_end {
  init(_ end: OperationEnd) {
    self.init()
    size = UInt32(MemoryLayout<Self>.size)
    outcome = inturn_outcome(UInt32(end.outcome.rawValue))
    cause = inturn_cause(UInt32(end.cause.rawValue))
    code = end.code
    result = end.result
    label = end.label
    attempts = end.attempts
    enqueued_ns = end.enqueuedAt
    started_ns = end.startedAt
    ended_ns = end.endedAt
  }
}
