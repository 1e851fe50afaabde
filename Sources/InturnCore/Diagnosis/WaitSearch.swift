/// A search for a ring among waits, the last of which is part of it.
///
/// It asks what each wait is for, and what blocks that: in the terms of `StuckWaits`, hindrances and
/// their holders. Only waits that hold something relevant are asked. The chain of operations that block
/// each other is followed with a list, not by recursion.
struct WaitSearch {
  /// What threads hold and others may need.
  private enum Resource: Hashable {
    /// A thread is inside a callback of the lane.
    case inside(Lane.Pointer)
    /// A thread is one of the lane's drainers.
    case drainer(Lane.Pointer)
    /// A thread is inside work that has a place in the lane until it returns.
    case place(Lane.Pointer)
    /// The operation's work is being called.
    case work(OperationSlot.Pointer)
    /// A thread drains the executor.
    case executor(UnsafeMutableRawPointer)
    /// A thread is the only one that may drain the executor.
    case loop(UnsafeMutableRawPointer)
  }

  private let waits: [WaitGraph.Wait]
  private var stuck: StuckWaits
  private var holders: [Resource: [StuckWaits.Holder]] = [:]
  /// That this many of a resource's places are held.
  private struct Need: Hashable {
    let resource: Resource
    let places: UInt64
  }

  /// The hindrances that were asked for; nil for those that can never apply.
  private var hindrances: [Need: Int?] = [:]
  /// For each hindrance, the holders of its places, and the name that a report gives it.
  private var details: [(holders: [StuckWaits.Holder], name: Name)] = []
  /// For each wait, the hindrances that keep it.
  private var keepers: [[Int]]
  /// The waits still to be asked; `isAsked` also has those that were.
  private var open: [Int]
  private var isAsked: [Bool]
  /// References that the search has taken.
  private var held: [OperationSlot.Pointer] = []
  /// How many more operations may be looked at, so that a wait with a time limit is not late. A wait
  /// that would need more is not refused.
  private var looks = 100_000

  private enum Name {
    case lane(Lane.Pointer)
    case trail(TrailBase)

    var text: String {
      switch self {
      case .lane(let lane): lane.describedForReports
      case .trail(let trail): trail.describedForReports
      }
    }
  }

  init(_ waits: [WaitGraph.Wait]) {
    self.waits = waits
    stuck = StuckWaits(waits: waits.count)
    keepers = Array(repeating: [], count: waits.count)
    isAsked = Array(repeating: false, count: waits.count)
    open = [waits.count - 1]
    isAsked[waits.count - 1] = true
    for (wait, entry) in waits.enumerated() {
      for frame in entry.frames { addHoldings(of: frame, wait) }
    }
  }

  private mutating func addHoldings(of frame: CallFrame, _ wait: Int) {
    func add(_ resource: Resource) {
      if let last = holders[resource]?.last, last.wait == wait {
        holders[resource]![holders[resource]!.count - 1] = .init(
          wait: wait, places: last.places + 1)
      } else {
        holders[resource, default: []].append(.init(wait: wait, places: 1))
      }
    }
    if let executor = frame.executor { add(.executor(executor.toOpaque())) }
    guard let lane = frame.lane else { return }
    add(.inside(lane))
    if let operation = frame.operation { add(.work(operation)) }
    if frame.isNotice || frame.isCutOff { return }
    add(.drainer(lane))
    if frame.operation != nil { add(.place(lane)) }
  }

  /// The stuck waits, if the last one is stuck; else none.
  mutating func findRing() -> [WaitGraph.Wait] {
    while let wait = open.popLast() { ask(wait) }
    let isStuck = stuck.solve()
    guard isStuck[waits.count - 1] else { return [] }
    return waits.indices.filter { isAsked[$0] && isStuck[$0] }.map { waits[$0] }
  }

  /// Drops the references. No lock is held.
  mutating func letGo() {
    for slot in held { slot.dropReference() }
    held = []
  }

  // MARK: Asking

  private mutating func ask(_ wait: Int) {
    switch waits[wait].target {
    case .queue(let lane):
      keep(wait, by: .inside(lane), places: 1, .lane(lane))
      keepByHost(wait, lane)
      var pending: [OperationSlot.Pointer] = []
      lane.addPending(before: nil, to: &pending)
      follow(pending, wait)
    case .calls(of: let lane): keep(wait, by: .inside(lane), places: 1, .lane(lane))
    case .operation:
      if let slot = WaitGraph.operation(of: waits[wait]) { follow([slot], wait) }
    case .observers(of: let trail, let what):
      var holders: [StuckWaits.Holder] = []
      for (other, entry) in waits.enumerated()
      where entry.frames.contains(where: { $0.call?.isAwaited(by: what, of: trail) == true }) {
        holders.append(.init(wait: other, places: 1))
      }
      keep(wait, by: add(places: 1, holders, .trail(trail)))
    }
  }

  /// Follows what blocks these operations. Takes over a reference to each.
  private mutating func follow(_ slots: [OperationSlot.Pointer], _ wait: Int) {
    held += slots
    var open = slots
    var seen = Set(slots)
    var earlier: [OperationSlot.Pointer] = []
    var lastTurn: (lane: Lane.Pointer, places: UInt64)?
    while let slot = open.popLast(), looks > 0 {
      looks -= 1
      let lane = slot.lane
      switch lane.whatKeepsBack(slot, &earlier, strays: &held) {
      case .nothing, .others: break
      case .itsWork: keep(wait, by: .work(slot), places: 1, .lane(lane))
      // Most of them need the same turn as the one before.
      case .turn(let places, _) where lastTurn?.lane == lane && lastTurn?.places == places: break
      case .turn(let places, let drainers):
        lastTurn = (lane, places)
        if places > 0 { keep(wait, by: .place(lane), places: places, .lane(lane)) }
        keep(wait, by: .drainer(lane), places: drainers, .lane(lane))
        keepByHost(wait, lane)
      }
      held += earlier
      for other in earlier where seen.insert(other).inserted { open.append(other) }
      earlier.removeAll(keepingCapacity: true)
      if looks & 1023 == 0 && isOwnWaitOver { looks = 0 }
    }
  }

  /// What the last wait is for may happen during a long search.
  private var isOwnWaitOver: Bool {
    guard case .operation(let slot) = waits[waits.count - 1].target else { return false }
    return slot.loadWord().isEnded
  }

  /// The executor cannot be drained while all threads that may drain it are held up.
  private mutating func keepByHost(_ wait: Int, _ lane: Lane.Pointer) {
    guard let host = lane.hostExecutor else { return }
    let address = Unmanaged<Executor>.passUnretained(host).toOpaque()
    keep(wait, by: .executor(address), places: UInt64(host.places), .lane(lane))
    if holders[.loop(address)] == nil {
      holders[.loop(address)] = waits.indices.filter { host.isDrainedAlone(by: waits[$0]) }
        .map { .init(wait: $0, places: 1) }
    }
    keep(wait, by: .loop(address), places: 1, .lane(lane))
  }

  private mutating func keep(
    _ wait: Int, by resource: Resource, places: UInt64, _ name: @autoclosure () -> Name
  ) {
    let need = Need(resource: resource, places: places)
    if let known = hindrances[need] {
      keep(wait, by: known)
      return
    }
    let hindrance = add(places: places, holders[resource] ?? [], name())
    hindrances[need] = .some(hindrance)
    keep(wait, by: hindrance)
  }

  private mutating func keep(_ wait: Int, by hindrance: Int?) {
    guard let hindrance, !keepers[wait].contains(hindrance) else { return }
    keepers[wait].append(hindrance)
    stuck.keep(wait, by: hindrance)
  }

  private mutating func add(
    places: UInt64, _ holders: [StuckWaits.Holder], _ name: Name
  ) -> Int? {
    guard let hindrance = stuck.add(places: places, holders: holders) else { return nil }
    details.append((holders, name))
    for holder in holders where !isAsked[holder.wait] {
      isAsked[holder.wait] = true
      open.append(holder.wait)
    }
    return hindrance
  }

  // MARK: Telling

  /// Names a path: from the last wait to what it is for, to the holder of that, and so back to itself.
  func report(_ ring: [WaitGraph.Wait]) -> Report {
    let last = waits.count - 1
    let stuck = Set(ring.map { $0.number })
    /// From which wait, and by which hindrance, each wait was reached.
    var origins: [Int: (wait: Int, hindrance: Int)] = [:]
    var next = [last]
    var count = 0
    while count < next.count, origins[last] == nil {
      let wait = next[count]
      count += 1
      for hindrance in keepers[wait] {
        for holder in details[hindrance].holders
        where origins[holder.wait] == nil && stuck.contains(waits[holder.wait].number) {
          origins[holder.wait] = (wait, hindrance)
          next.append(holder.wait)
        }
      }
    }
    var names: [String] = []
    var place = last
    while let origin = origins[place] {
      names.append(details[origin.hindrance].name.text)
      if case .queue(let lane) = waits[origin.wait].target {
        let name = lane.describedForReports
        if !Self.isSame(names.last, name) { names.append(name) }
      }
      place = origin.wait
      if place == last { break }
    }
    let caller = waits[last].nameOfWaiter
    names.reverse()
    if !Self.isSame(names.last, caller) { names.append(caller) }
    return .deadlock(ring: [caller] + names, at: waits[last].site)
  }

  /// Compares bytes: see `Bytes`.
  private static func isSame(_ left: String?, _ right: String) -> Bool {
    left?.utf8.elementsEqual(right.utf8) == true
  }
}

extension WaitGraph.Wait {
  /// Where the work was enqueued that this call belongs to; unknown outside of work.
  fileprivate var site: Site {
    guard let frame = frames.first(where: { $0.lane != nil }), let lane = frame.lane else {
      return .unknown
    }
    return lane.site(ofCallIn: frame)
  }

  /// The queue or value whose callback the thread is in.
  fileprivate var nameOfWaiter: String {
    for frame in frames {
      if let lane = frame.lane { return lane.describedForReports }
      if let call = frame.call {
        return call.trail._withUnsafeGuaranteedRef { $0.describedForReports }
      }
    }
    return "the main thread"
  }
}
