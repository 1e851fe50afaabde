import Inturn

/// Running tasks of plain operations, which the lane does not know.
extension QueueCore {
  func begin(_ place: Place) {
    let reference = Unmanaged.passUnretained(place)
    lock.lock()
    place.next = firstPlace
    firstPlace?._withUnsafeGuaranteedRef { $0.previous = reference }
    firstPlace = reference
    lock.unlock()
  }

  /// One of them has begun. Called under the lane's lock.
  func noteBegun() { begun.wrappingAdd(1, ordering: .relaxed) }

  func end(_ place: Place, hasBegun: Bool = false) {
    lock.lock()
    if let previous = place.previous {
      previous._withUnsafeGuaranteedRef { $0.next = place.next }
    } else {
      firstPlace = place.next
    }
    place.next?._withUnsafeGuaranteedRef { $0.previous = place.previous }
    if hasBegun { begun.wrappingSubtract(1, ordering: .relaxed) }
    lock.unlock()
  }

  var runningPlaceCount: Int { lock.withLock { begun.load(ordering: .relaxed) } }

  var runningPlainPlaces: [Place] {
    var places: [Place] = []
    lock.lock()
    var next = firstPlace
    while let place = next?.takeUnretainedValue() {
      // Its task keeps it until the end is noted under this lock.
      places.append(place)
      next = place.next
    }
    lock.unlockAfterReadingObject()
    return places
  }

  /// Whether nothing is pending or running. An operation on an actor is in the core's list before
  /// it is over for the lane, so it is always seen in one of them.
  var isQuiet: Bool {
    // A destroyed queue is quiet, too.
    Engine.drain(queue, timeoutNanoseconds: 0) != .timedOut
      && (kind != .actor || runningPlaceCount == 0)
  }
}
