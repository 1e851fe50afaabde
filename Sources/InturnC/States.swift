import CInturn
import InturnCore

@_cdecl("inturn_queue_create_value") @implementation
public func inturn_queue_create_value(
  _ queue: inturn_queue, _ aspect: inturn_queue_aspect,
  _ out_value: UnsafeMutablePointer<inturn_value>?
) -> inturn_status {
  guard let aspect = QueueAspect(rawValue: aspect.rawValue) else { return refuse("aspect") }
  guard let out_value else { return refuse("out_value") }
  return give(Engine.createValue(aspect, of: Handle(queue)), to: out_value)
}

@_cdecl("inturn_operation_create_value") @implementation
public func inturn_operation_create_value(
  _ operation: inturn_operation, _ aspect: inturn_operation_aspect,
  _ out_value: UnsafeMutablePointer<inturn_value>?
) -> inturn_status {
  guard let aspect = OperationAspect(rawValue: aspect.rawValue) else { return refuse("aspect") }
  guard let out_value else { return refuse("out_value") }
  return give(Engine.createValue(aspect, of: Handle(operation)), to: out_value)
}

@_cdecl("inturn_batch_create_value") @implementation
public func inturn_batch_create_value(
  _ batch: inturn_batch, _ out_value: UnsafeMutablePointer<inturn_value>?
) -> inturn_status {
  guard let out_value else { return refuse("out_value") }
  return give(Engine.createValue(progressOf: Handle(batch)), to: out_value)
}

private func give(
  _ made: (status: Status, value: Handle), to out_value: UnsafeMutablePointer<inturn_value>
) -> inturn_status {
  if made.status.isOK { out_value.pointee.bits = made.value.bits }
  return inturn_status(made.status)
}
