/// Being told, without waiting, that a lane is quiet.
extension UnsafeMutablePointer<Lane> {
  /// Calls `body` once the lane is quiet or its queue gone; at once when it is quiet.
  func whenQuiet(generation: UInt32, _ body: @escaping @Sendable () -> Void) -> Status {
    pointee.lock.lock()
    if let refusal = refusalLocked(generation) { return refusal }
    if isQuiet {
      pointee.lock.unlock()
      body()
      return .ok
    }
    needExtra().pointee.quietCalls.append(body)
    pointee.machine.flags.insert(.waitedFor)
    pointee.lock.unlock()
    return .ok
  }

  /// The calls that are due now that the lane is quiet, or its queue gone.
  func takeQuietCallsLocked() -> [@Sendable () -> Void] {
    guard let extra = pointee.extra, !extra.pointee.quietCalls.isEmpty else { return [] }
    defer { extra.pointee.quietCalls = [] }
    return extra.pointee.quietCalls
  }

  func limit(generation: UInt32) -> (Status, UInt32) {
    pointee.lock.lock()
    if let refusal = refusalLocked(generation) { return (refusal, 0) }
    defer { pointee.lock.unlock() }
    return (.ok, pointee.extra?.pointee.limit ?? 0)
  }
}
