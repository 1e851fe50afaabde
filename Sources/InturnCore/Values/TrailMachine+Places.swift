/// Observers and their mailboxes.
extension TrailMachine {
  /// The index of an observation's place.
  @inlinable
  package func index(of id: UInt64) -> TrailPlaces<Value>.Index? {
    let index = places.index(from: id)
    return index < places.endIndex && places[index].id == id ? index : nil
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
    guard places.hasOne, let place = places.first, !place.isCancelled else { return }
    let manner = place.manner
    if !manner.hasMailbox && !manner.latest && !manner.prior { plain = place.observer }
  }

  /// Whether the observer at this place is being called.
  @inlinable
  package func isRunning(at index: TrailPlaces<Value>.Index) -> Bool {
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
  mutating func remove(at index: TrailPlaces<Value>.Index) -> Place {
    if places[index].manner.prior { priors -= 1 }
    let place = places.remove(at: index, keeping: &cursor)
    findPlain()
    return place
  }

  // MARK: The end

  /// From now on, observers are told no changes, and there are no new observations. The caller is to
  /// sweep them out.
  @inlinable
  package mutating func close() { isClosed = true }

  /// Whether nothing more will enter any mailbox.
  @inlinable
  var isAtEnd: Bool { (isClosed || isFinal) && !isDelivering && waiting.isEmpty }

  /// Observations that will be told nothing more.
  @usableFromInline
  @frozen
  package struct Swept {
    /// These have ended and belong to the caller.
    @usableFromInline package var gone: [Place] = []
    /// These pull, and have to be told that nothing more will come.
    @usableFromInline package var pulled: [UInt64] = []

    @inlinable
    init() {}
  }

  /// Ends observations that will be told nothing more; when whoever has closed the trail asks, those are
  /// all. One that is being called ends after its call, and one that pulls after it has taken what is
  /// left.
  ///
  /// Looks at a piece of the places at a time, from the last one whose number is below `bound` down,
  /// so that nobody waits for all of them. Nil when there are none.
  @inlinable
  package mutating func sweep(below bound: inout UInt64, closing: Bool) -> Swept? {
    if !isClosed && !isFinal { return nil }
    var index = places.index(from: bound)
    if index == places.startIndex { return nil }
    var swept = Swept()
    repeat {
      index = places.index(before: index)
      bound = places[index].id
      if places[index].manner.isPulled {
        if isAtEnd { swept.pulled.append(bound) }
      } else if closing || isOver(at: index), case .removed(let place) = cancel(bound) {
        swept.gone.append(place)
      }
    } while index.offset > 0
    return swept
  }

  /// The same for one observation, whose mailbox may have become empty.
  @inlinable
  package mutating func leave(_ id: UInt64) -> Place? {
    guard let index = index(of: id), isOver(at: index), case .removed(let place) = cancel(id)
    else { return nil }
    return place
  }

  /// Whether an observation has been told everything, and there will be no more change.
  @inlinable
  func isOver(at index: TrailPlaces<Value>.Index) -> Bool {
    isFinal && isAtEnd && !places[index].manner.isPulled && !places[index].isRunning
      && places[index].mail.isEmpty
  }

  // MARK: Mailboxes

  /// Puts an entry into a mailbox. Returns the step that follows, if there is one.
  @inlinable
  package mutating func mail(_ entry: Entry, at index: TrailPlaces<Value>.Index) -> Step? {
    places[index].receive(entry, &spent.piece)
  }

  /// The next entry in an observer's mailbox, to call it with; `runEnded` is then due. Nil when
  /// there is none, or no such observation.
  @inlinable
  package mutating func beginRun(_ id: UInt64) -> (observer: UnsafeRawPointer, entry: Entry)? {
    guard let index = index(of: id) else { return nil }
    return places[index].beginRun(&spent.piece)
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

  /// Memory that a step has emptied, to be freed without the lock: that may take long.
  @inlinable
  package mutating func takeSpent() -> Backlog<Entry>.Piece? {
    if spent.piece == nil { return nil }
    defer { spent.piece = nil }
    return spent.piece
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
    if let entry = places[index].mail.popFirst(&spent.piece) { return .entry(entry) }
    if isAtEnd { return .end }
    places[index].isPosted = false
    return .nothing
  }
}

extension TrailMachine.Place {
  /// Puts an entry into the mailbox, as the manner says. Returns the step that follows, if there is one.
  @inlinable
  mutating func receive(
    _ entry: TrailMachine.Entry, _ spent: inout Backlog<TrailMachine.Entry>.Piece?
  ) -> TrailMachine.Step? {
    var garbage: TrailMachine.Entry?
    if manner.latest, let waiting = mail.popFirst(&spent) {
      // If the waiting entry tells an initial value, so does the joined one.
      var joined = entry
      joined.old = waiting.old
      joined.kind = waiting.kind
      garbage = waiting
      // The old values that both hold are only dropped after the lock.
      mail.append(joined)
    } else if manner.capacity > 0 && mail.count >= manner.capacity {
      if manner.overflow == .dropsOldest {
        garbage = mail.popFirst(&spent)
        mail.append(entry)
      } else {
        garbage = entry
      }
    } else {
      mail.append(entry)
    }
    let wasPosted = isPosted
    if wasPosted && garbage == nil { return nil }
    isPosted = true
    var step = TrailMachine.Step(wasPosted ? .discard : .post)
    step.observer = observer
    step.id = id
    step.garbage = garbage
    return step
  }

  /// Begins a call with the next entry in the mailbox. Nil when there is none, or a call is under way.
  @inlinable
  mutating func beginRun(
    _ spent: inout Backlog<TrailMachine.Entry>.Piece?
  ) -> (observer: UnsafeRawPointer, entry: TrailMachine.Entry)? {
    if isRunning { return nil }
    guard let entry = mail.popFirst(&spent) else {
      isPosted = false
      return nil
    }
    isRunning = true
    current = entry.number
    return (observer, entry)
  }
}
