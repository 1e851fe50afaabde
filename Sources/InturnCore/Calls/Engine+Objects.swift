import Synchronization

/// Calls about executors, clocks, owners and the library as a whole.
extension Engine {
  // MARK: Executors

  package static func createHostExecutor(
    label: Text?, waker: HostExecutor.Waker?, places: UInt32 = 1
  ) -> Handle? {
    current.pointee.objects.add(HostExecutor(label: label, waker: waker, places: places))
  }

  package static func createPool(workers: Int, maximum: Int, label: Text?) -> Handle? {
    current.pointee.objects.add(
      WorkerPool(
        target: workers, maximum: maximum == 0 ? workers + 64 : maximum, label: label,
        clock: current.pointee.systemClock))
  }

  package static var mainExecutor: Handle { current.pointee.mainExecutorHandle }

  package static var poolExecutor: Handle { current.pointee.poolHandle }

  /// The host-driven executor that a handle names, or why there is none.
  package static func hostExecutor(_ handle: Handle) -> (Status, HostExecutor?) {
    let (status, executor) = current.pointee.objects.executors.find(handle)
    guard let executor else { return (status, nil) }
    guard let host = executor as? HostExecutor else { return (.unsupported, nil) }
    return (.ok, host)
  }

  package static func destroy(executor handle: Handle) -> Status {
    let (status, executor) = withObjects { objects -> (Status, Executor?) in
      let (status, executor) = objects.executors.find(handle)
      guard let executor else { return (status, nil) }
      if handle == poolExecutor || handle == mainExecutor { return (.unsupported, nil) }
      if executor.users > 0 || (executor as? HostExecutor)?.isBusy == true { return (.busy, nil) }
      return (.ok, objects.executors.remove(handle))
    }
    if let pool = executor as? WorkerPool { pool.stop() }
    if let host = executor as? HostExecutor { host.discardWaiting() }
    return status
  }

  // MARK: Clocks

  package static func createManualClock() -> Clock? {
    let clock = Clock(isManual: true)
    guard let handle = current.pointee.objects.clocks.add(clock) else { return nil }
    clock.handle = handle
    return clock
  }

  /// Its creator needs the clock no more: it goes away with the last queue that uses it.
  package static func release(_ clock: Clock) {
    let objects = current.pointee.objects
    objects.lock.lock()
    clock.isReleased = true
    objects.removeUnused(clock)
    objects.lock.unlock()
  }

  /// The clock that a handle names; the system's for a null handle.
  package static func clock(_ handle: Handle) -> (Status, Clock?) {
    if handle.bits == 0 { return (.ok, current.pointee.systemClock) }
    return current.pointee.objects.clocks.find(handle)
  }

  package static func destroy(clock handle: Handle) -> Status {
    withObjects { objects -> (Status, Clock?) in
      let (status, clock) = objects.clocks.find(handle)
      guard let clock else { return (status, nil) }
      return clock.users > 0 ? (.busy, nil) : (.ok, objects.clocks.remove(handle))
    }.0
  }

  // MARK: Owners

  package static func createOwner(capacity: UInt64) -> Handle? {
    let owner = Owner(capacity: capacity)
    guard let handle = current.pointee.objects.owners.add(owner) else { return nil }
    owner.handle = handle
    return handle
  }

  /// The owner that a handle names.
  package static func owner(_ handle: Handle) -> (Status, Owner?) {
    current.pointee.objects.owners.find(handle)
  }

  package static func destroy(owner handle: Handle) -> Status {
    guard let owner = current.pointee.objects.owners.remove(handle) else {
      return handle.refusal(for: .owner)
    }
    owner.goAway()
    return .ok
  }

  // MARK: The library

  package struct LibraryStatistics {
    package var workers: UInt32
    package var queues: UInt64
    package var operations: UInt64
    package var executors: UInt64
    package var clocks: UInt64
    package var values: UInt64
    package var observations: UInt64
  }

  package static var statistics: LibraryStatistics {
    let engine = current
    let slots = Int(engine.pointee.operations.liveCount)
    let operations = UInt64(max(0, slots - engine.pointee.gates.load(ordering: .relaxed)))
    return LibraryStatistics(
      workers: UInt32(engine.pointee.pool.threadCount),
      queues: engine.pointee.lanes.liveCount, operations: operations,
      executors: engine.pointee.objects.executors.liveCount,
      clocks: engine.pointee.objects.clocks.liveCount,
      values: engine.pointee.values.liveCount,
      observations: engine.pointee.observations.liveCount)
  }

  package static func setReportHandler(_ handler: ReportHandler?) {
    var handler = handler  // then the old one, which is released here, without the lock
    current.pointee.reportHandler.withLock { swap(&$0, &handler) }
  }

  /// Changes how long something may stand still before it is reported.
  package static func setStallLimit(_ limit: StallLimit) {
    current.pointee.watchdog.set(limit == .standard ? .ofEnvironment : limit)
  }

  /// Notes that somebody waits, in no call of the engine's, for what a handle names.
  package static func setAwaited(_ handle: Handle) -> Status {
    if handle.isOf(.queue) {
      guard hasMemory else { return .noMemory }
      return withLocked(handle, or: ()) { lane, _ in lane.setAwaitedLocked() }.0
    }
    if handle.isOf(.batch) {
      let (status, batch) = batch(handle)
      if batch?.isCompleteNow == true { return .alreadyFinished }
      batch?.setAwaited()
      return status
    }
    if handle.isOf(.token) {
      return withSlot(token: handle) { $0.note(.awaited, attempt: handle.generation) }
    }
    return withSlot(operation: handle) { $0.note(.awaited) }
  }

  static func withObjects<Result>(_ body: (EngineObjects) -> Result) -> Result {
    let objects = current.pointee.objects
    objects.lock.lock()
    defer { objects.lock.unlockAfterReadingObject() }
    return body(objects)
  }
}
