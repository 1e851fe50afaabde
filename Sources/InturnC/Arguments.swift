import CInturn
import InturnCore

/// Refuses a call because of one of its arguments, which is reported by name: such as `out_queue`,
/// or `options.` and `label`.
@inline(never)
func refuse(
  _ argument: StaticString, _ field: StaticString = "", in function: StaticString = #function
) -> Status {
  guard Engine.hasMemory else { return .invalidArgument }
  let message = text(function, until: "(") + " refuses " + text(argument) + text(field)
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

/// By bytes, as characters would need tables.
private func text(_ literal: StaticString, until end: Unicode.Scalar? = nil) -> String {
  let bytes = UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
  let end = end.map { UInt8(ascii: $0) }
  return String(decoding: bytes.prefix { $0 != end }, as: UTF8.self)
}
