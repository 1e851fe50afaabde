import CInturn

@_cdecl("inturn_version") @implementation
public func inturn_version() -> UInt32 {
  UInt32(INTURN_VERSION_MAJOR * 1_000_000 + INTURN_VERSION_MINOR * 1000 + INTURN_VERSION_PATCH)
}
