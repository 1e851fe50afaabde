import CInturn
import InturnCore

@_cdecl("inturn_trace_start") @implementation
public func inturn_trace_start(_ bytes: Int) -> inturn_status {
  let status = Trace.start(bytes: bytes)
  return status == .invalidArgument ? refuse("bytes") : inturn_status(status)
}

@_cdecl("inturn_trace_stop") @implementation
public func inturn_trace_stop() -> inturn_status {
  Trace.stop()
  return INTURN_OK
}

@_cdecl("inturn_trace_write") @implementation
public func inturn_trace_write(_ fd: Int32) -> inturn_status {
  let status = Trace.write(to: fd)
  return status == .invalidArgument ? refuse("fd") : inturn_status(status)
}
