import Inturn

/// Running tasks of plain operations, which the lane does not know.
extension QueueCore {
  func begin(_ frame: OwnedFrame) {
    let reference = Unmanaged.passUnretained(frame)
    lock.lock()
    frame.next = firstFrame
    firstFrame?._withUnsafeGuaranteedRef { $0.previous = reference }
    firstFrame = reference
    lock.unlock()
  }

  /// One of them has begun. Called under the lane's lock.
  func noteBegun() { begun.wrappingAdd(1, ordering: .relaxed) }

  func end(_ frame: OwnedFrame, hasBegun: Bool = false) {
    lock.lock()
    if let previous = frame.previous {
      previous._withUnsafeGuaranteedRef { $0.next = frame.next }
    } else {
      firstFrame = frame.next
    }
    frame.next?._withUnsafeGuaranteedRef { $0.previous = frame.previous }
    if hasBegun { begun.wrappingSubtract(1, ordering: .relaxed) }
    lock.unlock()
  }

  var runningFrameCount: Int { lock.withLock { begun.load(ordering: .relaxed) } }

  var runningPlainFrames: [OwnedFrame] {
    var frames: [OwnedFrame] = []
    lock.lock()
    var next = firstFrame
    while let frame = next?.takeUnretainedValue() {
      // Its task keeps it until the end is noted under this lock.
      frames.append(frame)
      next = frame.next
    }
    lock.unlockAfterReadingObject()
    return frames
  }

  /// Whether nothing is pending or running. An operation on an actor is in the core's list before
  /// it is over for the lane, so it is always seen in one of them.
  var isQuiet: Bool {
    // A destroyed queue is quiet, too.
    Engine.drain(queue, timeoutNanoseconds: 0) != .timedOut
      && (kind != .actor || runningFrameCount == 0)
  }
}
