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
    let scheduled = pointee.machine.scheduled
    let isNew = needExtra().pointee.executors.change(
      to: executor, scheduled: scheduled, pool: Engine.current.pointee.pool)
    return (.ok, !isNew)
  }

  /// A drainer comes from an executor, perhaps not the lane's any more.
  func drainerArrivesLocked(from executor: UnsafeRawPointer?) {
    pointee.machine.drainerArrives()
    pointee.extra?.pointee.executors.drainerArrives(from: executor)
  }
}
