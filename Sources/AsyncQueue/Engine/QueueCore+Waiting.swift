internal import InturnCore

/// Waiting for room and for quiet; looking.
extension QueueCore {
  // MARK: Quiet

  func waitUntilQuiet(timeout: Duration?) async {
    if isQuiet { return }
    let waiter = WaiterList.Waiter()
    let alarm = timeout.map { timeout in
      ClockAlarm(on: clock, afterNanoseconds: timeout.inNanoseconds) { [self] in
        finishQuiet(waiter)
      }
    }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        lock.lock()
        let waits = quietWaiters.add(waiter, continuation)
        lock.unlock()
        if !waits { return continuation.resume() }
        note(Interest.quiet)
      }
    } onCancel: {
      finishQuiet(waiter)
    }
    alarm?.cancel()
  }

  private var clock: Clock { engineClock ?? Engine.systemClock }

  private func finishQuiet(_ waiter: WaiterList.Waiter) {
    lock.lock()
    let continuation = quietWaiters.finish(waiter)
    lock.unlock()
    continuation?.resume()
  }

  /// Somebody is interested: looks himself, because what he waits for may just have happened.
  private func note(_ interest: UInt32) {
    interests.bitwiseOr(interest, ordering: .sequentiallyConsistent)
    progressed()
  }

  func tellQuiet() {
    lock.lock()
    interests.bitwiseAnd(~Interest.quiet, ordering: .sequentiallyConsistent)
    let waiters = quietWaiters.popAll()
    lock.unlock()
    for waiter in waiters { waiter.resume() }
  }

  // MARK: Room

  /// Waits until there may be room; who waits longest comes first. Throws when the task is cancelled,
  /// unless it is obstinate.
  func waitForRoom(isObstinate: Bool = false) async throws {
    let waiter = WaiterList.Waiter()
    if isObstinate { return await waitForRoom(waiter) }
    await withTaskCancellationHandler {
      await waitForRoom(waiter)
    } onCancel: {
      lock.lock()
      let continuation = roomWaiters.finish(waiter)
      lock.unlock()
      continuation?.resume()
    }
    if !Task.isCancelled { return }
    // It may have been told of the room: the next one is to have that.
    progressed()
    throw CancellationError()
  }

  private func waitForRoom(_ waiter: WaiterList.Waiter) async {
    await withUnsafeContinuation { continuation in
      lock.lock()
      let waits = roomWaiters.add(waiter, continuation)
      lock.unlock()
      if !waits { return continuation.resume() }
      note(Interest.room)
    }
  }

  /// Lets as many try again as there is room for.
  func giveRoom() {
    let pending = statistics.pending
    var room = capacity > pending ? capacity - pending : 0
    var waiters: [UnsafeContinuation<Void, Never>] = []
    lock.lock()
    while room > 0, let waiter = roomWaiters.popFirst() {
      waiters.append(waiter)
      room -= 1
    }
    if roomWaiters.isEmpty {
      interests.bitwiseAnd(~Interest.room, ordering: .sequentiallyConsistent)
    }
    lock.unlock()
    for waiter in waiters { waiter.resume() }
  }

  /// Lets all that wait for room try again: the queue is closed.
  func tellRoom() {
    lock.lock()
    let waiters = roomWaiters.popAll()
    lock.unlock()
    for waiter in waiters { waiter.resume() }
  }

  // MARK: Looking

  var statistics: QueueStatistics {
    let (_, counts) = Engine.statistics(of: queue)
    var result = QueueStatistics()
    result.pending = Int(counts.pending)
    // What has begun on an actor is over for the lane.
    let begun = kind == .actor ? runningFrameCount : 0
    result.running = Int(counts.running) + begun
    result.finished = max(0, Int(counts.finished) - begun)
    result.failed = Int(counts.failed)
    result.cancelled = Int(counts.cancelled + counts.abandoned)
    result.timedOut = Int(counts.timedOut)
    result.suspends = Int(counts.suspends)
    if counts.nextStart != 0 { result.nextStart = .nanoseconds(counts.nextStart) }
    return result
  }

  var operations: [OperationInfo] {
    var result: [OperationInfo] = []
    // Called under the engine's lock; what it allocates is no user's code.
    _ = Engine.list(queue) {
      result.append(
        OperationInfo(
          state: $0.state == .running ? .running : .pending, isCancelled: $0.isCancelled,
          name: $0.label.map { String(cString: $0) }))
      return true
    }
    let visits = statistics.running - result.count { $0.state == .running }
    if visits > 0 {
      result.insert(
        contentsOf: repeatElement(OperationInfo(state: .running), count: visits), at: 0)
    }
    return result
  }

  func makeEvents(bufferingNewest limit: Int) -> AsyncStream<QueueEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: QueueEvent.self, bufferingPolicy: .bufferingNewest(limit))
    lock.lock()
    let id = nextObserver
    nextObserver += 1
    observers[id] = continuation
    interests.bitwiseOr(Interest.events, ordering: .sequentiallyConsistent)
    lock.unlock()
    continuation.onTermination = { [weak self] _ in self?.forgetObserver(id) }
    return stream
  }

  private func forgetObserver(_ id: UInt64) {
    lock.lock()
    let observer = observers.removeValue(forKey: id)
    if observers.isEmpty {
      interests.bitwiseAnd(~Interest.events, ordering: .sequentiallyConsistent)
    }
    lock.unlockAfterReadingObject()
    withExtendedLifetime(observer) {}
  }

  /// The last events have been told when nothing of the queue is left.
  func finishObservers() {
    lock.lock()
    let observers = self.observers.values.map(\.self)
    lock.unlockAfterReadingObject()
    for observer in observers { observer.finish() }
  }
}
