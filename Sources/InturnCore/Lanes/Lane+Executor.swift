/// Giving a lane another executor.
extension UnsafeMutablePointer<Lane> {
  /// The lane has the executor from now on, of which the caller has counted a use. That use is the
  /// lane's then; `isSurplus` says that the lane has one already, or is the queue's no more.
  ///
  /// What the old executor has got already, it still calls, so it stays with the lane.
  func setExecutor(
    _ executor: Executor, generation: UInt32
  ) -> (status: Status, isSurplus: Bool) {
    pointee.lock.lock()
    if let refusal = refusalLocked(generation) { return (refusal, true) }
    defer { pointee.lock.unlock() }
    let extra = needExtra()
    let new = Unmanaged.passUnretained(executor)
    let old = extra.pointee.executor
    if old?.toOpaque() == new.toOpaque() { return (.ok, true) }
    let place = extra.pointee.formerExecutors.firstIndex { $0.toOpaque() == new.toOpaque() }
    if let place { extra.pointee.formerExecutors.remove(at: place) }
    if let old { extra.pointee.formerExecutors.append(old) }
    extra.pointee.executor = place == nil ? new.retain() : new
    return (.ok, place != nil)
  }
}
