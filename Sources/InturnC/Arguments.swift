import CInturn
import InturnCore

/// Refuses a call because of one of its arguments, which is reported by name: such as `out_queue`,
/// or `options.` and `label`.
@inline(never)
func refuse(
  _ argument: StaticString, _ field: StaticString = "", in function: StaticString = #function
) -> Status {
  guard Engine.hasMemory else { return .invalidArgument }
  let name = Text(function, until: "(")
  let message = name + " refuses " + Text(stringLiteral: argument) + Text(stringLiteral: field)
  Report(kind: .invalidArgument, message: message).send()
  return .invalidArgument
}

@inline(never)
func refuse(
  _ argument: StaticString, _ field: StaticString = "", in function: StaticString = #function
) -> inturn_status {
  inturn_status(refuse(argument, field, in: function) as Status)
}

/// The status of a refused call that takes `work`: perhaps refused because `work` is NULL.
func refusal(
  _ status: Status, _ work: inturn_work_fn?, in function: StaticString = #function
) -> inturn_status {
  status == .invalidArgument && work == nil ? refuse("work", in: function) : inturn_status(status)
}

/// Gives what was found to who asked for it.
func give<Found, Value>(
  _ found: (Status, Found), to out: UnsafeMutablePointer<Value>?, _ name: StaticString,
  in function: StaticString = #function, _ value: (Found) -> Value
) -> inturn_status {
  if !found.0.isOK { return inturn_status(found.0) }
  guard let out else { return refuse(name, in: function) }
  out.pointee = value(found.1)
  return INTURN_OK
}
