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
    needExtra().pointee.quiet.add(body)
    pointee.machine.flags.insert(.waitedFor)
    pointee.lock.unlock()
    return .ok
  }

  func limit(generation: UInt32) -> (Status, UInt32) {
    pointee.lock.lock()
    if let refusal = refusalLocked(generation) { return (refusal, 0) }
    defer { pointee.lock.unlock() }
    return (.ok, pointee.extra?.pointee.settings.limit ?? 0)
  }
}
