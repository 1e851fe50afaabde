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
    let away = extra.pointee.awayDrainers.reduce(0) { $0 + $1.count }
    if pointee.machine.scheduled > away {
      let former = UnsafeRawPointer(Unmanaged.passUnretained(self.executor).toOpaque())
      extra.pointee.awayDrainers.append((former, pointee.machine.scheduled - away))
    }
    extra.pointee.awayDrainers.removeAll { $0.executor == new.toOpaque() }
    let place = extra.pointee.formerExecutors.firstIndex { $0.toOpaque() == new.toOpaque() }
    if let place { extra.pointee.formerExecutors.remove(at: place) }
    if let old { extra.pointee.formerExecutors.append(old) }
    extra.pointee.executor = place == nil ? new.retain() : new
    return (.ok, place != nil)
  }

  /// A drainer comes from an executor, perhaps not the lane's any more.
  func drainerArrivesLocked(from executor: UnsafeRawPointer?) {
    pointee.machine.drainerArrives()
    guard let extra = pointee.extra, !extra.pointee.awayDrainers.isEmpty,
      let place = extra.pointee.awayDrainers.firstIndex(where: { $0.executor == executor })
    else { return }
    extra.pointee.awayDrainers[place].count -= 1
    if extra.pointee.awayDrainers[place].count == 0 { extra.pointee.awayDrainers.remove(at: place) }
  }
}
