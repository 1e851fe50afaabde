import Inturn

/// Waiting for room and for quiet; reading the queue's state.
extension QueueCore {
  // MARK: Quiet

  /// Returns whether the queue is quiet, rather than timed out or the task cancelled.
  func waitUntilQuiet(timeout: Duration?) async -> Bool {
    if isQuiet { return true }
    // Operations that have begun on an actor are over for the lane.
    return await quietWaits.wait(
      for: queue, within: timeout, of: clock,
      isRestOver: { [self] in kind != .actor || begunCount == 0 }
    ) {
      if kind != .actor { return }
      interests.bitwiseOr(Interest.quiet, ordering: .sequentiallyConsistent)
      tellQuiet()
    }
  }

  /// The same without an end, in a cancelled task as well.
  func waitUntilQuietInAnyCase() async {
    // A task of its own is not cancelled with the one that waits for it.
    _ = await Task { await waitUntilQuiet(timeout: nil) }.value
  }

  func tellQuiet() {
    quietWaits.end(if: { isQuiet }) {
      interests.bitwiseAnd(~Interest.quiet, ordering: .sequentiallyConsistent)
    }
  }

  // MARK: Room

  /// Enqueues a turn, waiting for room if there is none; the longest waiting goes first. Throws the
  /// reason for a refusal, or when the task is cancelled meanwhile, unless the turn is obstinate.
  func enqueueWhenRoom(
    _ turn: Turn, _ options: OperationOptions? = nil,
    isolation: isolated (any Actor)? = #isolation
  ) async throws {
    let waiter = RoomLine.Waiter(turn, options)
    let status =
      if turn.isObstinate {
        await waitForRoom(waiter)
      } else {
        await withTaskCancellationHandler {
          // Captured, so that the caller does not leave its actor before it is in the line.
          _ = isolation
          return await waitForRoom(waiter)
        } onCancel: {
          lock.withLock { roomLine.cancel(waiter) }?.resume(returning: nil)
        }
      }
    guard let status, status != .full || turn.isOwnerFull else { throw CancellationError() }
    if status != .ok { throw QueueError(status) }
  }

  private func waitForRoom(
    _ waiter: RoomLine.Waiter, isolation: isolated (any Actor)? = #isolation
  ) async -> Status? {
    await withUnsafeContinuation { continuation in
      lock.lock()
      let waits = roomLine.add(waiter, continuation)
      if waits { interests.bitwiseOr(Interest.room, ordering: .sequentiallyConsistent) }
      lock.unlock()
      // There may be room already.
      if waits { giveRoom() } else { continuation.resume(returning: nil) }
    }
  }

  /// Whether others are waiting for room, so that a newcomer has to wait as well.
  var isRoomAwaited: Bool { interests.load(ordering: .relaxed) & Interest.room != 0 }

  /// Enqueues as many waiting turns as there is room for. When the queue is closed, all of them are
  /// told.
  func giveRoom() {
    var goesOn = lock.withLock { roomLine.begin() }
    while goesOn { goesOn = giveRoomToFirst() }
    lock.withLock {
      if roomLine.isEmpty {
        interests.bitwiseAnd(~Interest.room, ordering: .sequentiallyConsistent)
      }
    }
  }

  /// Returns whether there may be room for another one.
  private func giveRoomToFirst() -> Bool {
    guard let waiter = lock.withLock({ roomLine.next() }) else { return false }
    let status = waiter.turn.enqueue(waiter.options)
    let (continuation, goesOn) = lock.withLock {
      let continuation = roomLine.settle(status, of: waiter)
      return (continuation, continuation != nil || !roomLine.end())
    }
    continuation?.resume(returning: status)
    return goesOn
  }

  // MARK: Looking

  var statistics: QueueStatistics {
    var result = QueueStatistics(of: queue)
    // Operations that have begun on an actor are over for the lane.
    let begun = kind == .actor ? begunCount : 0
    result.running += begun
    result.finished = max(0, result.finished - begun)
    return result
  }

  func list(atMost count: Int) -> [OperationInfo] {
    var result = OperationInfo.list(of: queue, atMost: count)
    // If there is room for running ones only, more of them may be known than there is room for.
    if result.count == count && result.last?.state == .running { return result }
    let visits = statistics.running - result.count { $0.state == .running }
    if visits > 0 {
      result.insert(
        contentsOf: repeatElement(OperationInfo(state: .running), count: visits), at: 0)
    }
    return Array(result.prefix(count))
  }

  func makeEvents(
    buffering policy: AsyncStream<QueueEvent>.Continuation.BufferingPolicy
  ) -> AsyncStream<QueueEvent> {
    let isQuiet = isQuiet
    return broadcast.stream(
      keeping: policy,
      begun: { isFirst in
        if isFirst { lock.withLock { isIdleTold = isQuiet } }
        interests.bitwiseOr(Interest.events, ordering: .sequentiallyConsistent)
      },
      isUnused: { [weak self] in
        self?.interests.bitwiseAnd(~Interest.events, ordering: .sequentiallyConsistent)
      })
  }
}
