import Inturn

/// Tasks of plain operations whose bodies run: the lane does not know them.
extension QueueCore {
  func begin(_ frame: OwnedFrame) {
    let reference = Unmanaged.passUnretained(frame)
    lock.lock()
    frame.next = firstFrame
    firstFrame?._withUnsafeGuaranteedRef { $0.previous = reference }
    firstFrame = reference
    lock.unlock()
  }

  /// One of them has begun for the lane, whose lock is held.
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
      // Its task holds it until this lock's owner has heard of the end.
      frames.append(frame)
      next = frame.next
    }
    lock.unlockAfterReadingObject()
    return frames
  }

  /// Whether nothing is pending or running. What runs on an actor is among the core's before it is over
  /// for the lane, so that it is seen here or there.
  var isQuiet: Bool {
    // A queue that has been destroyed is so, too.
    Engine.drain(queue, timeoutNanoseconds: 0) != .timedOut
      && (kind != .actor || runningFrameCount == 0)
  }
}
