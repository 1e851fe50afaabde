/// Why a lane or one of its operations is stalled, as seen under the lane's lock.
struct Standing {
  /// One link; or two, if an operation waits for its turn and the second says what holds the lane up.
  var links: [StallLink]
  /// How many operations of the lane are pending, except the one in the first link.
  var waiting: UInt64 = 0
  /// The mark of the lane's progress.
  var mark: UInt64 = 0
  /// The same for everything that is stalled for the same cause.
  var key: UInt64 = 0
  /// The queue's own.
  var limit = StallLimit.standard
  var patience = Patience.none
  /// Since when the last link's operation stands still whatever else its lane does: it has started and
  /// reports no progress, or others keep it back. Nil if that is not known.
  var since: Int64?
  /// After how long it goes on by itself.
  var rest = Int64.max
  /// When the last link's operation was started, if known.
  var startedAt: Int64?
  /// The last link's operation, with a reference, if others keep it from starting: see `complete`.
  var blocked: OperationSlot.Pointer?
  /// The last link's operation, if it runs: it may wait for others. There is a reference until
  /// `complete`.
  var running: OperationSlot.Pointer?
  /// The operation to look at next, with a reference; or else the lane.
  private(set) var next: OperationSlot.Pointer?
  private(set) var nextLane: Lane.Pointer?
  /// The value of which an observer is to return.
  private(set) var nextValue: TrailBase?
  /// The line that waits for it, if work does.
  private(set) var lineOfWait: Site?

  /// Why a stall may last longer.
  enum Patience {
    case none
    /// It may well be intended, and nobody waits for any work in the lane.
    case unawaited
    /// It is what an interaction queue shows, and nobody waits for the queue.
    case shown
  }

  /// Who wants to know.
  enum Asker {
    /// The watchdog, which tells of what goes on by itself only if somebody waits for it in that lane.
    case watchdog
    /// The same, and somebody waits for this.
    case waiter
    /// A caller who asks for the reason in any case; nil is only that nothing is left to wait for.
    case question
  }

  init(_ link: StallLink) { links = [link] }

  /// Says how long the work has been running, since it was started or at least since the lane stalled;
  /// and on which thread, if it is called. No lock is held.
  mutating func addRun(at now: Int64, lanesSince: Int64?) {
    guard running != nil else { return }
    let (last, begin) = (links.count - 1, startedAt ?? lanesSince)
    if begin == nil && links[last].thread == 0 { return }
    var text: Text = "running"
    if let begin { text.add(" for " + Stall.text(now - begin)) }
    text.add(links[last].placeOfCall)
    links[last].predicate = text + ", " + links[last].predicate
  }

  /// Looks for the operations that block this one, or for what its work waits for. The lane's lock is
  /// not held, as they may be in other lanes. False if it is blocked and none is found: then the last
  /// link says why.
  mutating func complete() -> Bool {
    if let running { follow(running) }
    guard let blocked else { return true }
    self.blocked = nil
    var earlier: [OperationSlot.Pointer] = []
    var strays: [OperationSlot.Pointer] = []
    _ = blocked.lane.whatKeepsBack(blocked, &earlier, strays: &strays)
    // One that has ended keeps its names, and those of its batch, for as long as its call goes on or
    // its place is held.
    next = earlier.first { !$0.loadWord().isOver }
    // An operation that has several of its names, for example, is listed several times.
    next?.addReference()
    for slot in earlier { slot.dropReference() }
    for slot in strays { slot.dropReference() }
    next = next ?? blocked.lane.earlierInBatch(of: blocked)
    // Its end may not be told yet.
    if let ended = next, ended.loadWord().isOver {
      ended.dropReference()
      next = nil
    }
    var isFound = next != nil
    if !isFound {
      if !blocked.lane.waitsInBatch(blocked) {
        links[links.count - 1].isKeptByNothing()
      } else if let undelivered = blocked.lane.undelivered() {
        links += undelivered.links
        key = undelivered.key
        isFound = true
      } else {
        links[links.count - 1].predicate = "it waits for others of its batch"
      }
    }
    blocked.dropReference()
    return isFound
  }

  /// Looks for what a wait inside the running operation is for.
  private mutating func follow(_ running: OperationSlot.Pointer) {
    defer { running.dropReference() }
    let last = links.count - 1
    guard
      let wait = WaitGraph.wait(
        inside: running, of: running.lane, inCall: links[last].cause == .call)
    else { return }
    switch wait.target {
    case .operation: next = WaitGraph.operation(of: wait)
    case .queue(let lane): nextLane = lane
    case .observers(of: let trail, let what):
      nextLane = trail.queues(for: what).first.flatMap(Engine.lane)
      // One that is being called on a queue is told as that queue's.
      if trail.queue(for: what) == nil && !what.isForChange { nextValue = trail }
    case .calls: break
    case .needs:
      switch WaitGraph.state(of: wait).needs.first {
      case .operation(let handle): next = OperationSlot.Pointer.find(told: handle).1
      case .quiet(let queue), .place(in: let queue, outOf: _): nextLane = Engine.lane(queue)
      case .batch(let handle):
        nextLane = Engine.batch(handle).1.flatMap { Engine.lane($0.queue) }
      case .end(of: let holder): nextLane = Lane.Pointer(bitPattern: holder.lane)
      case nil: break
      }
    }
    if next != nil || nextLane != nil || nextValue != nil { lineOfWait = wait.site }
  }
}
