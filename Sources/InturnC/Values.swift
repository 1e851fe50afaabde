import CInturn
import InturnCore

// MARK: Values

@_cdecl("inturn_value_create") @implementation
public func inturn_value_create(
  _ options: UnsafePointer<inturn_value_options>?, _ initial: UnsafePointer<inturn_datum>?,
  _ out_value: UnsafeMutablePointer<inturn_value>?
) -> inturn_status {
  let given = options.map { sized($0) }
  if case .some(nil) = given { return refuse("options->size") }
  let options = given ?? nil
  if options?.reserved ?? 0 != 0 { return refuse("options->reserved") }
  if !isValidLabel(options?.label) { return refuse("options->label") }
  guard let out_value else { return refuse("out_value") }
  let references = ReferenceFunctions(retain: options?.retain, release: options?.release)
  let (status, data) = rawValue(initial, references, "initial")
  guard let data else { return inturn_status(status) }
  let (made, value) = Engine.createValue(
    data, references, label: options?.label.map { Text(cString: $0) })
  if made.isOK { out_value.pointee.bits = value.bits } else { data.disown() }
  return inturn_status(made)
}

@_cdecl("inturn_value_get") @implementation
public func inturn_value_get(
  _ value: inturn_value, _ out_datum: UnsafeMutablePointer<inturn_datum>?
) -> inturn_status {
  give(Engine.value(Handle(value)), to: out_datum, "out_datum") { inturn_datum(owning: $0!) }
}

@_cdecl("inturn_value_get_integer") @implementation
public func inturn_value_get_integer(
  _ value: inturn_value, _ out_number: UnsafeMutablePointer<Int64>?
) -> inturn_status {
  give(Engine.value(Handle(value), expecting: .integer), to: out_number, "out_number") {
    inturn_datum($0!).integer
  }
}

@_cdecl("inturn_value_get_double") @implementation
public func inturn_value_get_double(
  _ value: inturn_value, _ out_number: UnsafeMutablePointer<Double>?
) -> inturn_status {
  give(Engine.value(Handle(value), expecting: .double), to: out_number, "out_number") {
    inturn_datum($0!).real
  }
}

@_cdecl("inturn_value_get_boolean") @implementation
public func inturn_value_get_boolean(
  _ value: inturn_value, _ out_truth: UnsafeMutablePointer<Bool>?
) -> inturn_status {
  give(Engine.value(Handle(value), expecting: .boolean), to: out_truth, "out_truth") {
    inturn_datum($0!).boolean
  }
}

@_cdecl("inturn_datum_release") @implementation
public func inturn_datum_release(_ datum: UnsafeMutablePointer<inturn_datum>?) -> inturn_status {
  guard let datum else { return refuse("datum") }
  guard let owner = datum.pointee.owner else { return INTURN_OK }
  datum.pointee = inturn_datum()
  Unmanaged<AnyObject>.fromOpaque(owner).release()
  return INTURN_OK
}

@_cdecl("inturn_value_set") @implementation
public func inturn_value_set(
  _ value: inturn_value, _ datum: UnsafePointer<inturn_datum>?
) -> inturn_status {
  with(datum, for: value) { Engine.set(Handle(value), $0) }
}

@_cdecl("inturn_value_set_integer") @implementation
public func inturn_value_set_integer(_ value: inturn_value, _ number: Int64) -> inturn_status {
  inturn_status(Engine.set(Handle(value), .integer(number)))
}

@_cdecl("inturn_value_set_double") @implementation
public func inturn_value_set_double(_ value: inturn_value, _ number: Double) -> inturn_status {
  inturn_status(Engine.set(Handle(value), .double(number)))
}

@_cdecl("inturn_value_set_boolean") @implementation
public func inturn_value_set_boolean(_ value: inturn_value, _ truth: Bool) -> inturn_status {
  inturn_status(Engine.set(Handle(value), .boolean(truth)))
}

@_cdecl("inturn_value_exchange") @implementation
public func inturn_value_exchange(
  _ value: inturn_value, _ datum: UnsafePointer<inturn_datum>?,
  _ out_before: UnsafeMutablePointer<inturn_datum>?
) -> inturn_status {
  with(datum, for: value) {
    guard let out_before else { return refuse("out_before") }
    let (status, before) = Engine.exchange(Handle(value), $0)
    if let before { out_before.pointee = inturn_datum(owning: before) }
    return status
  }
}

@_cdecl("inturn_value_compare_exchange") @implementation
public func inturn_value_compare_exchange(
  _ value: inturn_value, _ expected: UnsafePointer<inturn_datum>?,
  _ desired: UnsafePointer<inturn_datum>?, _ out_exchanged: UnsafeMutablePointer<Bool>?,
  _ out_before: UnsafeMutablePointer<inturn_datum>?
) -> inturn_status {
  with(desired, named: "desired", for: value) { desired in
    guard let out_exchanged else { return refuse("out_exchanged") }
    // Only compared, so no reference changes hands.
    let (refusal, expected) = rawValue(expected, ReferenceFunctions(), "expected")
    guard let expected else { return refusal }
    let (status, exchanged, before) = Engine.compareExchange(
      Handle(value), expected: expected, desired: desired)
    if !status.isOK { return status }
    if !exchanged { desired.disown() }
    out_exchanged.pointee = exchanged
    if let out_before, let before { out_before.pointee = inturn_datum(owning: before) }
    return .ok
  }
}

@_cdecl("inturn_value_add") @implementation
public func inturn_value_add(
  _ value: inturn_value, _ difference: Int64, _ out_sum: UnsafeMutablePointer<Int64>?
) -> inturn_status {
  let (status, sum) = Engine.add(Handle(value), difference)
  if status.isOK { out_sum?.pointee = sum }
  return inturn_status(status == .invalidArgument ? refuse("difference") : status)
}

@_cdecl("inturn_value_add_double") @implementation
public func inturn_value_add_double(
  _ value: inturn_value, _ difference: Double, _ out_sum: UnsafeMutablePointer<Double>?
) -> inturn_status {
  let (status, sum) = Engine.add(Handle(value), difference)
  if status.isOK { out_sum?.pointee = sum }
  return inturn_status(status == .invalidArgument ? refuse("difference") : status)
}

/// Calls `body` with a datum in the engine's form, using the value's reference functions. When the
/// status is not OK, references stay the caller's.
private func with(
  _ datum: UnsafePointer<inturn_datum>?, named name: StaticString = "datum",
  for value: inturn_value, in function: StaticString = #function, _ body: (RawValue) -> Status
) -> inturn_status {
  let (found, references) = Engine.references(of: Handle(value))
  guard let references else { return inturn_status(found) }
  let (refusal, data) = rawValue(datum, references, name, in: function)
  guard let data else { return inturn_status(refusal) }
  let status = body(data)
  if !status.isOK { data.disown() }
  return inturn_status(status)
}

@_cdecl("inturn_value_drain") @implementation
public func inturn_value_drain(_ value: inturn_value, _ timeout_ns: Int64) -> inturn_status {
  Site.afterWait(Engine.drain(value: Handle(value), timeoutNanoseconds: timeout_ns))
}

@_cdecl("inturn_value_destroy") @implementation
public func inturn_value_destroy(_ value: inturn_value) -> inturn_status {
  Site.afterWait(Engine.destroy(value: Handle(value)))
}
