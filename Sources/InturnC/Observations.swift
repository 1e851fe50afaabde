import CInturn
import InturnCore

@_cdecl("inturn_value_observe") @implementation
public func inturn_value_observe(
  _ value: inturn_value, _ options: UnsafePointer<inturn_observe_options>?,
  _ observer: inturn_change_fn?, _ context: UnsafeMutableRawPointer?,
  _ destroy: inturn_destroy_fn?, _ out_observation: UnsafeMutablePointer<inturn_observation>?
) -> inturn_status {
  let callback = CallbackContext(context: context, destroy: destroy)
  let (refusal, _) = Engine.references(of: Handle(value))
  let given = options.map { sized($0) }
  var checked = ObserveOptions()
  let status = refusal.isOK ? check(given, observer, into: &checked) : refusal
  guard status.isOK, let observer else {
    callback.release()
    return inturn_status(status)
  }
  let (made, observation) = Engine.observe(
    Handle(value), checked, wantsHandle: out_observation != nil,
    ObserverCallback(
      call: { entry in
        var change = inturn_change()
        change.size = UInt32(MemoryLayout<inturn_change>.size)
        change.kind = inturn_change_kind(UInt32(entry.kind.rawValue))
        change.number = entry.number
        if let old = entry.old { change.before = inturn_datum(old) }
        change.after = inturn_datum(entry.new)
        observer(callback.context, &change)
      }, onRelease: { callback.release() }))
  if made.isOK { out_observation?.pointee.bits = observation.bits }
  return inturn_status(made)
}

/// Returns the options in the engine's form, or why they are refused. `given` is nil without
/// options, and contains nil when their size is wrong.
private func check(
  _ given: inturn_observe_options??, _ observer: inturn_change_fn?,
  into result: inout ObserveOptions, in function: StaticString = #function
) -> Status {
  if observer == nil { return refuse("observer", in: function) }
  guard let given else { return .ok }
  guard let options = given else { return refuse("options->size", in: function) }
  if options.prior && options.latest {
    return refuse("options->latest, with prior", in: function)
  }
  if options.executor.bits != 0 && options.queue.bits != 0 {
    return refuse("options->queue, with executor", in: function)
  }
  result.manner.initial = options.initial
  result.manner.prior = options.prior
  result.manner.latest = options.latest
  result.executor = Handle(options.executor)
  result.queue = Handle(options.queue)
  return .ok
}

@_cdecl("inturn_observation_cancel") @implementation
public func inturn_observation_cancel(
  _ observation: inturn_observation, _ timeout_ns: Int64
) -> inturn_status {
  Site.afterWait(
    Engine.cancel(observation: Handle(observation), timeoutNanoseconds: timeout_ns))
}

@_cdecl("inturn_value_wait") @implementation
public func inturn_value_wait(
  _ value: inturn_value, _ predicate: inturn_predicate_fn?, _ context: UnsafeMutableRawPointer?,
  _ timeout_ns: Int64, _ out_datum: UnsafeMutablePointer<inturn_datum>?
) -> inturn_status {
  defer { Site.forgetWait() }
  let (refusal, _) = Engine.references(of: Handle(value))
  if !refusal.isOK { return inturn_status(refusal) }
  guard let predicate else { return refuse("predicate") }
  let (status, data) = Engine.wait(for: Handle(value), timeoutNanoseconds: timeout_ns) {
    var datum = inturn_datum($0)
    return predicate(context, &datum)
  }
  if let data { out_datum?.pointee = inturn_datum(owning: data) }
  return inturn_status(status)
}
