/// Telling changes.
extension TrailMachine {
  /// An entry has to be told. Returns the first entry to tell if the caller becomes the delivering
  /// thread; nil when another thread delivers already.
  @inlinable
  package mutating func begin(_ entry: Entry) -> Entry? {
    if isDelivering || !waiting.isEmpty {
      waiting.append(entry)
      return resume()
    }
    isDelivering = true
    beginRound(entry)
    return entry
  }

  @inlinable
  mutating func beginRound(_ entry: Entry) {
    delivered = entry.number
    cursor = places.startIndex
    isPriorPhase = priors > 0 && entry.kind == .change
  }

  /// The next step in telling this entry.
  @inlinable
  package mutating func next(for entry: Entry) -> Step {
    while true {
      while cursor < places.endIndex {
        if let step = visit(entry) { return step }
        places.formIndex(after: &cursor)
      }
      if !isPriorPhase { return Step(.over) }
      isPriorPhase = false
      cursor = places.startIndex
    }
  }

  /// The step at the place under the cursor. Nil: none. The cursor stays at a call and moves on
  /// after any other step.
  @inlinable
  mutating func visit(_ entry: Entry) -> Step? {
    let isMeant =
      entry.target == 0
      ? places[cursor].since < entry.number : places[cursor].id == entry.target
    if !isMeant || places[cursor].isCancelled { return nil }
    if isPriorPhase && !places[cursor].manner.prior { return nil }
    if places[cursor].manner.hasMailbox {
      var entry = entry
      if isPriorPhase { entry.kind = .prior }
      let step = mail(entry, at: cursor)
      if step != nil { places.formIndex(after: &cursor) }
      return step
    }
    var step = Step(.call)
    if places[cursor].manner.latest && entry.kind == .change {
      if entry.number < number {
        // A later change waits and will be told; the old value of this one is kept until then.
        if places[cursor].heldOld == nil { places[cursor].heldOld = entry.old }
        return nil
      }
      swap(&step.heldOld, &places[cursor].heldOld)
    }
    isInCall = true
    step.observer = places[cursor].observer
    step.id = places[cursor].id
    step.isPrior = isPriorPhase
    return step
  }

  /// The call of the last step has returned. False when the observation was cancelled meanwhile: it
  /// still counts as being called until the caller has released its observer and calls `callLeft`.
  @inlinable
  package mutating func callEnded() -> Bool {
    if places[cursor].isCancelled { return false }
    isInCall = false
    places.formIndex(after: &cursor)
    return true
  }

  /// The observer of a cancelled observation has been released. The place belongs to the caller.
  @inlinable
  package mutating func callLeft() -> Place {
    isInCall = false
    return remove(at: cursor)
  }

  /// The same as `begin` and `next` when there is a single plain observer and nobody delivers.
  /// Otherwise nil, with nothing changed.
  @inlinable @inline(__always)
  package mutating func beginPlainCall() -> (observer: UnsafeRawPointer, id: UInt64)? {
    guard let plain, !isDelivering, waiting.isEmpty else { return nil }
    isDelivering = true
    delivered = number
    cursor = places.startIndex
    isInCall = true
    return (plain, places[cursor].id)
  }

  /// The same as `callEnded` and `nextEntry` if that still holds. Otherwise false, with nothing
  /// changed.
  @inlinable @inline(__always)
  package mutating func endPlainCall() -> Bool {
    if plain == nil || !waiting.isEmpty { return false }
    isInCall = false
    isDelivering = false
    return true
  }

  /// The round is over: returns the next entry, or nil, and then nobody delivers any more.
  @inlinable
  package mutating func nextEntry() -> Entry? {
    guard let entry = waiting.popFirst(&spent.piece) else {
      isDelivering = false
      return nil
    }
    beginRound(entry)
    return entry
  }

  /// Keeps a change to be told later, by `resume`.
  @inlinable
  package mutating func postpone(_ entry: Entry) { waiting.append(entry) }

  /// Begins to deliver postponed changes. Nil when there are none, or another thread delivers.
  @inlinable
  package mutating func resume() -> Entry? {
    if isDelivering || waiting.isEmpty { return nil }
    isDelivering = true
    return nextEntry()
  }

  /// Whether every observer has been told all changes up to this one, from the observation with the
  /// number `bound` on.
  ///
  /// Looks at a piece of the places at a time, so that nobody waits for all of them. Nil when so far
  /// it holds: the bound has moved on to the next piece.
  @inlinable @inline(never)
  package func hasTold(_ number: UInt64, from bound: inout UInt64) -> Bool? {
    if isDelivering ? delivered <= number : !waiting.isEmpty { return false }
    var index = places.index(from: bound)
    let piece = index.piece
    while index < places.endIndex && index.piece == piece {
      if !places[index].hasTold(number) { return false }
      bound = places[index].id + 1
      places.formIndex(after: &index)
    }
    return index == places.endIndex ? true : nil
  }
}

extension TrailMachine.Place {
  /// Whether its observer has been told all changes up to this one that it is told by its mailbox.
  @inlinable
  func hasTold(_ number: UInt64) -> Bool {
    if isRunning && (current <= number || manner.latest) { return false }
    return !hasMail(number)
  }

  /// Whether a change up to this one is in its mailbox, to be told by whoever was asked to.
  @inlinable
  package func hasMail(_ number: UInt64) -> Bool {
    if manner.isPulled { return false }
    // With joined changes, an early one may still have to be told together with a later one.
    if heldOld != nil { return true }
    guard let first = mail.first else { return false }
    return first.number <= number || manner.latest
  }
}
