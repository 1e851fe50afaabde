import CInturn
import InturnCore

@_optimize(speed)
@_cdecl("inturn_token_finish") @implementation
public func inturn_token_finish(_ token: inturn_token) -> inturn_status {
  inturn_status(Engine.end(Handle(token), as: .finished))
}

@_cdecl("inturn_token_finish_with") @implementation
public func inturn_token_finish_with(
  _ token: inturn_token, _ result: UnsafeMutableRawPointer?, _ destroy: inturn_destroy_fn?
) -> inturn_status {
  let status = Engine.end(Handle(token), as: .finished, result: result, destroy: destroy)
  if !status.isOK { destroy?(result) }
  return inturn_status(status)
}

@_cdecl("inturn_token_fail") @implementation
public func inturn_token_fail(_ token: inturn_token, _ code: Int32) -> inturn_status {
  inturn_status(Engine.fail(Handle(token), code: code))
}

@_cdecl("inturn_token_cancel") @implementation
public func inturn_token_cancel(_ token: inturn_token) -> inturn_status {
  inturn_status(Engine.end(Handle(token), as: .cancelled))
}

@_cdecl("inturn_token_abandon") @implementation
public func inturn_token_abandon(_ token: inturn_token) -> inturn_status {
  inturn_status(Engine.abandon(Handle(token)))
}

@_cdecl("inturn_token_abandon_at") @implementation
public func inturn_token_abandon_at(
  _ token: inturn_token, _ place: UnsafePointer<CChar>?
) -> inturn_status {
  inturn_status(Engine.abandon(Handle(token), enqueuedAt: place))
}

@_cdecl("inturn_token_is_cancelled") @implementation
public func inturn_token_is_cancelled(
  _ token: inturn_token, _ out_cancelled: UnsafeMutablePointer<Bool>?
) -> inturn_status {
  give(Engine.isCancelled(Handle(token)), to: out_cancelled, "out_cancelled") { $0 }
}

@_cdecl("inturn_token_on_cancel") @implementation
public func inturn_token_on_cancel(
  _ token: inturn_token, _ handler: inturn_cancel_fn?, _ context: UnsafeMutableRawPointer?,
  _ destroy: inturn_destroy_fn?
) -> inturn_status {
  let status = Engine.setHandler(
    of: .cancel, Handle(token), rawCancelHandler(handler), context: context, destroy: destroy)
  if !status.isOK { destroy?(context) }
  return inturn_status(status)
}

@_cdecl("inturn_token_set_progress") @implementation
public func inturn_token_set_progress(
  _ token: inturn_token, _ completed: Int64, _ total: Int64
) -> inturn_status {
  if completed < 0 || total > 0 && completed > total { return refuse("completed") }
  if total < 0 { return refuse("total") }
  var progress = Progress()
  progress.completed = completed
  progress.total = total
  return inturn_status(Engine.setProgress(progress, of: Handle(token)))
}

@_cdecl("inturn_token_on_preempt") @implementation
public func inturn_token_on_preempt(
  _ token: inturn_token, _ handler: inturn_preempt_fn?, _ context: UnsafeMutableRawPointer?,
  _ destroy: inturn_destroy_fn?
) -> inturn_status {
  let status = Engine.setHandler(
    of: .preempt, Handle(token), rawCancelHandler(handler), context: context, destroy: destroy)
  if !status.isOK { destroy?(context) }
  return inturn_status(status)
}

@_cdecl("inturn_token_yield") @implementation
public func inturn_token_yield(_ token: inturn_token) -> inturn_status {
  inturn_status(Engine.yield(Handle(token)))
}

@_cdecl("inturn_token_resume") @implementation
public func inturn_token_resume(
  _ token: inturn_token, _ work: inturn_work_fn?, _ context: UnsafeMutableRawPointer?,
  _ destroy: inturn_destroy_fn?
) -> inturn_status {
  let status = Engine.resume(
    Handle(token), work: rawWork(work), context: context, destroy: destroy)
  if status.isOK { return INTURN_OK }
  destroy?(context)
  return refusal(status, work)
}
