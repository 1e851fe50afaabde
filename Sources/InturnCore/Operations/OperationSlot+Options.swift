import CInturnSystem

extension UnsafeMutablePointer<OperationSlot> {
  /// Takes over the options, before the slot is in a lane. `earlier` is the number of dependencies;
  /// `isHeld` means that its batch blocks it as well. False when memory runs out.
  @_optimize(speed)
  func giveDetails(
    _ options: UnsafePointer<OperationOptions>, earlier: Int, isHeld: Bool = false
  ) -> Bool {
    guard let (details, plan) = OperationDetails.make(options, earlier: earlier, isHeld: isHeld)
    else { return false }
    pointee.details = details
    if options.pointee.key != nil || options.pointee.owner != nil {
      details.pointee.groups = OperationGroups.make(
        key: options.pointee.key.map(Bytes.init), owner: options.pointee.owner,
        joins: options.pointee.joins)
    }
    guard let plan else { return true }
    if plan.pointee.retry != nil { _ = set(.retries) }
    if earlier > 0 { plan.pointee.blockers = UInt32(earlier) + 1 }
    if isHeld { plan.pointee.blockers += 1 }
    return true
  }

  /// Drops the slot of an operation that was not accepted, with the references that it was taken
  /// with. The contexts stay the caller's.
  func discard(_ references: UInt32) {
    pointee.destroy = nil
    dropReferences(references)
  }
}

extension OperationDetails {
  /// Allocates details, plan (if needed), edges, names and label in one piece of memory, which the
  /// details own. Nil when memory runs out.
  @_optimize(speed)
  fileprivate static func make(
    _ options: UnsafePointer<OperationOptions>, earlier: Int, isHeld: Bool
  ) -> (UnsafeMutablePointer<OperationDetails>, OperationPlan.Pointer?)? {
    let needsPlan = isHeld || OperationPlan.isNeeded(options, earlier: earlier)
    // All three types are made of words, so each one's stride keeps the next one aligned.
    let planAt = MemoryLayout<OperationDetails>.stride
    let edgesAt = planAt + (needsPlan ? MemoryLayout<OperationPlan>.stride : 0)
    let namesAt = edgesAt + earlier * MemoryLayout<Edge>.stride
    let names = options.pointee.names
    let labelAt = namesAt + (names.isEmpty ? 0 : NameClaims.byteCount(of: names))
    let labelSize = options.pointee.label.map { strlen($0) + 1 } ?? 0
    // Not `allocate`, which is slower for untyped memory. The details' `deallocate` can free it, as
    // its alignment is the default one.
    guard let memory = malloc(labelAt + labelSize) else { return nil }
    let details = memory.bindMemory(to: OperationDetails.self, capacity: 1)
    details.initialize(to: OperationDetails())
    details.take(options)
    if let label = options.pointee.label {
      details.pointee.label = (memory + labelAt).bindMemory(to: CChar.self, capacity: labelSize)
      memcpy(memory + labelAt, label, labelSize)
    }
    if !needsPlan { return (details, nil) }
    let plan = (memory + planAt).bindMemory(to: OperationPlan.self, capacity: 1)
    let edges = (memory + edgesAt).bindMemory(to: Edge.self, capacity: earlier)
    plan.initialize(to: OperationPlan())
    plan.take(options, edges: edges)
    if !names.isEmpty { plan.pointee.names = NameClaims.Pointer(names, at: memory + namesAt) }
    details.pointee.plan = plan
    return (details, plan)
  }
}

extension UnsafeMutablePointer<OperationDetails> {
  fileprivate func take(_ options: UnsafePointer<OperationOptions>) {
    pointee.endCallback = options.pointee.endCallback
    pointee.maxWait = options.pointee.maxWait
    pointee.maxRun = options.pointee.maxRun
    pointee.freesPlaceAtMaxRun = options.pointee.freesPlaceAtMaxRun
    pointee.stall = options.pointee.stall
    pointee.grace = options.pointee.grace
  }
}
