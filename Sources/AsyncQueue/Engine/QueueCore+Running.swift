import Inturn

/// What runs: what the lane knows, and sessions and places of plain operations, which it does not.
extension QueueCore {
  func begin(_ runner: Runner, isSession: Bool = false) {
    let reference = Unmanaged.passUnretained(runner)
    lock.lock()
    runner.next = firstRunner
    firstRunner?._withUnsafeGuaranteedRef { $0.previous = reference }
    firstRunner = reference
    if isSession { session = reference }
    lock.unlock()
  }

  /// A place on an actor has begun. Called under the lane's lock.
  func noteBegun() { begun.wrappingAdd(1, ordering: .relaxed) }

  func end(_ runner: Runner, hasBegun: Bool = false) {
    lock.lock()
    if let previous = runner.previous {
      previous._withUnsafeGuaranteedRef { $0.next = runner.next }
    } else {
      firstRunner = runner.next
    }
    runner.next?._withUnsafeGuaranteedRef { $0.previous = runner.previous }
    if session?.toOpaque() == Unmanaged.passUnretained(runner).toOpaque() { session = nil }
    if hasBegun { begun.wrappingSubtract(1, ordering: .relaxed) }
    lock.unlock()
  }

  /// How many operations have begun on an actor and are over for the lane.
  var begunCount: Int { lock.withLock { begun.load(ordering: .relaxed) } }

  /// All that run.
  func runners(areAskedToEnd: Bool = false) -> [Runner] {
    var runners: [Runner] = []
    lock.lock()
    var next = firstRunner
    while let runner = next?.takeUnretainedValue() {
      // Its task keeps it until the end is noted under this lock.
      runners.append(runner)
      next = runner.next
    }
    lock.unlockAfterReadingObject()
    Engine.forEachRunning(of: queue, areAskedToEnd: areAskedToEnd) {
      // The queue or the task keeps it until the engine, which is locked now, learns of its end.
      runners.append(Place.reference(UInt(bitPattern: $0)).takeUnretainedValue())
    }
    return runners
  }

  /// Whether nothing is pending or running. An operation on an actor is in the core's list before
  /// it is over for the lane, so it is always seen in one of them.
  var isQuiet: Bool {
    // A destroyed queue is quiet, too.
    Engine.drain(queue, timeoutNanoseconds: 0) != .timedOut && (kind != .actor || begunCount == 0)
  }
}
