/// Observers and their mailboxes.
extension TrailMachine {
  /// The index of an observation's place.
  @inlinable
  package func index(of id: UInt64) -> Int? {
    var low = 0
    var high = places.count
    while low < high {
      let middle = (low + high) / 2
      if places[middle].id < id { low = middle + 1 } else { high = middle }
    }
    return low < places.count && places[low].id == id && !places[low].isGone ? low : nil
  }

  /// Adds an observation, which is told changes from now on. Nil when the trail is closed.
  @inlinable
  package mutating func add(_ observer: UnsafeRawPointer, _ manner: TrailManner) -> UInt64? {
    if isClosed { return nil }
    lastID += 1
    if manner.prior { priors += 1 }
    places.append(Place(id: lastID, observer: observer, manner: manner, since: number))
    findPlain()
    return lastID
  }

  @inlinable
  mutating func findPlain() {
    plain = nil
    guard places.count == 1, let place = places.first, !place.isCancelled else { return }
    let manner = place.manner
    if !manner.hasMailbox && !manner.latest && !manner.prior { plain = place.observer }
  }

  /// Whether the observer at this place is being called.
  @inlinable
  package func isRunning(at index: Int) -> Bool {
    places[index].isRunning || isInCall && index == cursor
  }

  /// Whether any observer is being called.
  @inlinable
  package var isAnyRunning: Bool { isInCall || places.contains { $0.isRunning } }

  /// The result of a cancellation.
  @usableFromInline
  package enum Cancellation {
    /// The observation has ended already.
    case gone
    /// It will not be called again and is not being called. The place belongs to the caller.
    case removed(Place)
    /// It will not be called again, but is being called at this moment.
    case runs
  }

  @inlinable
  package mutating func cancel(_ id: UInt64) -> Cancellation {
    guard let index = index(of: id) else { return .gone }
    if isRunning(at: index) {
      places[index].isCancelled = true
      findPlain()
      return .runs
    }
    return .removed(remove(at: index))
  }

  @inlinable
  mutating func remove(at index: Int) -> Place {
    if places[index].manner.prior { priors -= 1 }
    var place = Place(
      id: places[index].id, observer: places[index].observer, manner: TrailManner(), since: number)
    place.isCancelled = true
    place.isGone = true
    swap(&place, &places[index])
    gone += 1
    // On average, each place is moved once for each one that goes.
    if 2 * gone >= places.count {
      cursor -= places[..<Swift.min(cursor, places.count)].count { $0.isGone }
      places.removeAll { $0.isGone }
      gone = 0
    }
    findPlain()
    return place
  }

  /// From now on, observers are told no changes, and there are no new observations. Returns the
  /// places of those that end now; one that is being called ends after its call, and one that pulls
  /// after it has taken what is left.
  @inlinable
  package mutating func close() -> [Place] {
    isClosed = true
    var gone: [Place] = []
    for place in places.reversed() where !place.manner.isPulled {
      if case .removed(let place) = cancel(place.id) { gone.append(place) }
    }
    return gone
  }

  /// Whether nothing more will enter any mailbox.
  @inlinable
  var isAtEnd: Bool { (isClosed || isFinal) && !isDelivering && waiting.isEmpty }

  /// Takes out the observations that will be told nothing more, as there will be no change; they
  /// belong to the caller. Those that pull see the end for themselves.
  @inlinable
  package mutating func takeOver() -> [Place] {
    if !isFinal || isDelivering || !waiting.isEmpty { return [] }
    var gone: [Place] = []
    for place in places.reversed() {
      if place.manner.isPulled || place.isRunning || !place.mail.isEmpty { continue }
      if case .removed(let place) = cancel(place.id) { gone.append(place) }
    }
    return gone
  }

  /// The observations that pull and have to be told that nothing more will come.
  @inlinable
  package mutating func pulledToEnd() -> [Place] {
    if !isAtEnd { return [] }
    return places.filter { $0.manner.isPulled }
  }

  // MARK: Mailboxes

  /// Puts an entry into a mailbox. Returns the step that follows, if there is one.
  @inlinable
  package mutating func mail(_ entry: Entry, at index: Int) -> Step? {
    var garbage: Entry?
    let manner = places[index].manner
    if manner.latest, let waiting = places[index].mail.popLast() {
      // If the waiting entry tells an initial value, so does the joined one.
      var joined = entry
      joined.old = waiting.old
      joined.kind = waiting.kind
      garbage = waiting
      // The old values that both hold are only dropped after the lock.
      places[index].mail.append(joined)
    } else if manner.capacity > 0 && places[index].mail.count >= manner.capacity {
      if manner.overflow == .dropsOldest {
        garbage = places[index].mail.popFirst()
        places[index].mail.append(entry)
      } else {
        garbage = entry
      }
    } else {
      places[index].mail.append(entry)
    }
    let isPosted = places[index].isPosted
    if isPosted && garbage == nil { return nil }
    var step = Step(isPosted ? .discard : .post)
    places[index].isPosted = true
    step.observer = places[index].observer
    step.id = places[index].id
    step.garbage = garbage
    return step
  }

  /// The next entry in an observer's mailbox, to call it with; `runEnded` is then due. Nil when
  /// there is none, or no such observation.
  @inlinable
  package mutating func beginRun(_ id: UInt64) -> (observer: UnsafeRawPointer, entry: Entry)? {
    guard let index = index(of: id), !places[index].isRunning else { return nil }
    guard let entry = places[index].mail.popFirst() else {
      places[index].isPosted = false
      return nil
    }
    places[index].isRunning = true
    places[index].current = entry.number
    return (places[index].observer, entry)
  }

  /// The call has returned. False when the observation was cancelled meanwhile: it still counts as
  /// being called until the caller has released its observer and calls `runLeft`.
  @inlinable
  package mutating func runEnded(_ id: UInt64) -> Bool {
    // It exists: nobody else removes an observation that is being called.
    let index = index(of: id).unsafelyUnwrapped
    if places[index].isCancelled { return false }
    places[index].isRunning = false
    return true
  }

  /// The observer of a cancelled observation has been released. The place belongs to the caller.
  @inlinable
  package mutating func runLeft(_ id: UInt64) -> Place {
    remove(at: index(of: id).unsafelyUnwrapped)
  }

  /// The result of pulling.
  @usableFromInline
  package enum Pull {
    case entry(Entry)
    /// Nothing yet: the observer's `post` will say when.
    case nothing
    /// Nothing more will come.
    case end
  }

  @inlinable
  package mutating func pull(_ id: UInt64) -> Pull {
    guard let index = index(of: id) else { return .end }
    if let entry = places[index].mail.popFirst() { return .entry(entry) }
    if isAtEnd { return .end }
    places[index].isPosted = false
    return .nothing
  }
}
