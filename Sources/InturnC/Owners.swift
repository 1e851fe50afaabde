import CInturn
import InturnCore

@_cdecl("inturn_owner_create") @implementation
public func inturn_owner_create(
  _ capacity: UInt64, _ out_owner: UnsafeMutablePointer<inturn_owner>?
) -> inturn_status {
  guard let out_owner else { return refuse("out_owner") }
  guard Engine.hasMemory, let owner = Engine.createOwner(capacity: capacity)
  else { return INTURN_E_NO_MEMORY }
  out_owner.pointee.bits = owner.bits
  return INTURN_OK
}

@_cdecl("inturn_owner_get_count") @implementation
public func inturn_owner_get_count(
  _ owner: inturn_owner, _ out_count: UnsafeMutablePointer<UInt64>?
) -> inturn_status {
  give(Engine.owner(Handle(owner)), to: out_count, "out_count") { $0!.operations }
}

@_cdecl("inturn_owner_destroy") @implementation
public func inturn_owner_destroy(_ owner: inturn_owner) -> inturn_status {
  inturn_status(Engine.destroy(owner: Handle(owner)))
}
