import CInturn
import InturnCore

@_cdecl("inturn_clock_create_manual") @implementation
public func inturn_clock_create_manual(
  _ out_clock: UnsafeMutablePointer<inturn_clock>?
) -> inturn_status {
  guard let out_clock else { return refuse("out_clock") }
  guard Engine.hasMemory, let clock = Engine.createManualClock()
  else { return INTURN_E_NO_MEMORY }
  out_clock.pointee.bits = clock.handle.bits
  return INTURN_OK
}

@_cdecl("inturn_clock_now") @implementation
public func inturn_clock_now(
  _ clock: inturn_clock, _ out_now_ns: UnsafeMutablePointer<Int64>?
) -> inturn_status {
  give(Engine.clock(Handle(clock)), to: out_now_ns, "out_now_ns") { $0!.now }
}

@_cdecl("inturn_clock_advance") @implementation
public func inturn_clock_advance(_ clock: inturn_clock, _ by_ns: Int64) -> inturn_status {
  if clock.bits == 0 { return INTURN_E_NULL_HANDLE }
  let (status, clock) = Engine.clock(Handle(clock))
  guard let clock else { return inturn_status(status) }
  return by_ns >= 0 && clock.advance(by: by_ns) ? INTURN_OK : refuse("by_ns")
}

@_cdecl("inturn_clock_destroy") @implementation
public func inturn_clock_destroy(_ clock: inturn_clock) -> inturn_status {
  inturn_status(Engine.destroy(clock: Handle(clock)))
}
