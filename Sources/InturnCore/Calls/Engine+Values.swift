import Synchronization

/// Calls about values, by handle.
extension Engine {
  package static func createValue(
    _ value: RawValue, _ references: ReferenceFunctions, label: Text?
  ) -> (Status, Handle) {
    guard hasMemory else { return (.noMemory, Handle(bits: 0)) }
    let object = ValueObject(value, references, label: label)
    guard let handle = current.pointee.values.add(object) else {
      return (.noMemory, Handle(bits: 0))
    }
    return (.ok, handle)
  }

  /// The trail that a handle names, if it holds the type that the caller expects.
  @inline(__always)
  private static func trail(
    _ handle: Handle, of kind: RawValue.Kind? = nil, forChange: Bool = false
  ) -> (Status, Trail<RawValue>?) {
    let (status, object) = current.pointee.values.find(handle)
    guard let object else { return (status, nil) }
    if forChange && object.isState { return (.unsupported, nil) }
    if let kind, object.kind != kind { return (.wrongKind, nil) }
    if forChange && !hasMemory { return (.noMemory, nil) }
    return (.ok, object.trail)
  }

  /// How a value retains and releases the pointers that it holds.
  package static func references(of handle: Handle) -> (Status, ReferenceFunctions?) {
    let (status, object) = current.pointee.values.find(handle)
    return (status, object?.references)
  }

  package static func value(
    _ handle: Handle, expecting kind: RawValue.Kind? = nil
  ) -> (Status, RawValue?) {
    let (status, trail) = trail(handle, of: kind)
    return (status, trail?.value)
  }

  package static func set(_ handle: Handle, _ new: RawValue) -> Status {
    let (status, trail) = trail(handle, of: new.kind, forChange: true)
    trail?.set(new)
    return status
  }

  package static func exchange(_ handle: Handle, _ new: RawValue) -> (Status, RawValue?) {
    let (status, trail) = trail(handle, of: new.kind, forChange: true)
    return (status, trail?.exchange(new))
  }

  /// Changes a value if it holds what is expected. Returns what it held.
  package static func compareExchange(
    _ handle: Handle, expected: RawValue, desired: RawValue
  ) -> (Status, exchanged: Bool, original: RawValue?) {
    let (status, found) = trail(handle, of: desired.kind, forChange: true)
    guard let trail = found else { return (status, false, nil) }
    if expected.kind != desired.kind { return (.wrongKind, false, nil) }
    while true {
      // Compared without the lock, as the contents may be large.
      let (value, number) = trail.snapshot
      if !value.isIdentical(to: expected) { return (.ok, false, value) }
      if trail.replace(desired, ifNumber: number) != .failed { return (.ok, true, value) }
    }
  }

  /// Adds to an integer and returns the sum. A sum that is too large is refused.
  package static func add(_ handle: Handle, _ difference: Int64) -> (Status, Int64) {
    change(handle, .integer) { value -> (RawValue, Int64)? in
      guard case .integer(let number) = value else { return nil }
      let (sum, isTooLarge) = number.addingReportingOverflow(difference)
      return isTooLarge ? nil : (.integer(sum), sum)
    } ?? (.invalidArgument, 0)
  }

  package static func add(_ handle: Handle, _ difference: Double) -> (Status, Double) {
    change(handle, .double) { value -> (RawValue, Double)? in
      guard case .double(let number) = value else { return nil }
      return (.double(number + difference), number + difference)
    } ?? (.invalidArgument, 0)
  }

  /// Nil when the step returns nil.
  private static func change<Number: AdditiveArithmetic>(
    _ handle: Handle, _ kind: RawValue.Kind, _ step: (RawValue) -> (RawValue, Number)?
  ) -> (Status, Number)? {
    let (status, found) = trail(handle, of: kind, forChange: true)
    guard let trail = found else { return (status, .zero) }
    while true {
      let (value, number) = trail.snapshot
      guard let (new, result) = step(value) else { return nil }
      if trail.replace(new, ifNumber: number) != .failed { return (.ok, result) }
    }
  }

  // MARK: Observing

  /// Begins to observe. The observation's handle becomes stale when the observation ends; it is
  /// null unless it is wanted.
  package static func observe(
    _ handle: Handle, _ options: ObserveOptions, wantsHandle: Bool, _ callback: ObserverCallback
  ) -> (Status, Handle) {
    let none = Handle(bits: 0)
    let (found, trail) = trail(handle)
    let status = found == .ok && !hasMemory ? .noMemory : found
    guard status == .ok, let trail else { return (status, none) }
    let object = ObservationObject(trail)
    var observation = none
    if wantsHandle {
      guard let added = current.pointee.observations.add(object) else { return (.noMemory, none) }
      observation = added
    }
    var options = options
    let (made, observer) = callback.observer(observation, &options)
    guard let observer else { return (made, none) }
    // Nil when the value is being destroyed; the observer is then released here.
    guard let (id, _, _) = trail.observe(options.manner, observer) else { return (.stale, none) }
    object.id.store(id, ordering: .relaxed)
    return (.ok, observation)
  }

  package static func cancel(observation handle: Handle, timeoutNanoseconds: Int64) -> Status {
    let (status, object) = current.pointee.observations.find(handle)
    guard let object else { return status }
    return object.trail.cancel(
      object.id.load(ordering: .relaxed), timeoutNanoseconds: timeoutNanoseconds)
  }

  package static func wait(
    for handle: Handle, timeoutNanoseconds: Int64, until predicate: (RawValue) -> Bool
  ) -> (Status, RawValue?) {
    let (status, found) = trail(handle)
    guard let trail = found else { return (status, nil) }
    guard hasMemory else { return (.noMemory, nil) }
    return trail.wait(timeoutNanoseconds: timeoutNanoseconds, until: predicate)
  }

  package static func drain(value handle: Handle, timeoutNanoseconds: Int64) -> Status {
    let (status, trail) = trail(handle)
    return trail?.drain(timeoutNanoseconds: timeoutNanoseconds) ?? status
  }

  package static func destroy(value handle: Handle) -> Status {
    let (status, found) = trail(handle)
    guard let trail = found else { return status }
    return trail.end { current.pointee.values.remove(handle) != nil }
  }
}
