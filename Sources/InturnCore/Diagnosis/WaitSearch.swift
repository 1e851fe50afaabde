/// A search for a ring among waits that ends with the last of them.
///
/// It asks what each wait is for, and what keeps that back: as `StuckWaits` has it, hindrances and who
/// holds them. Only waits that hold something which matters are asked; what keeps an operation back is
/// followed from one to the next, in a list and not on the stack.
struct WaitSearch {
  /// What threads hold that others may need.
  private enum Resource: Hashable {
    /// A thread is inside a callback of the lane.
    case inside(Lane.Pointer)
    /// It is one of the lane's drainers.
    case drainer(Lane.Pointer)
    /// It is inside work that has a place in the lane until it returns.
    case place(Lane.Pointer)
    /// The operation's work is being called.
    case work(OperationSlot.Pointer)
    /// It drains the executor.
    case executor(UnsafeMutableRawPointer)
    /// It alone may drain the executor.
    case loop(UnsafeMutableRawPointer)
  }

  private let waits: [WaitGraph.Wait]
  private var stuck: StuckWaits
  private var holders: [Resource: [StuckWaits.Holder]] = [:]
  /// That so many of a resource's places are held up.
  private struct Need: Hashable {
    let resource: Resource
    let places: UInt64
  }

  /// The hindrances that were asked for; nil for those that can never hold.
  private var hindrances: [Need: Int?] = [:]
  /// Of each hindrance, who holds places, and the names on the way to it.
  private var details: [(holders: [StuckWaits.Holder], name: Name)] = []
  /// Of each wait, the hindrances that keep it.
  private var keepers: [[Int]]
  /// The waits that are to be asked, and those that were.
  private var open: [Int]
  private var isAsked: [Bool]
  /// References that the search has taken.
  private var held: [OperationSlot.Pointer] = []
  /// How many more operations are looked at, so that a wait with a limit does not come too late.
  /// Whoever would need more is not refused.
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

  /// The waits that are stuck, if the last one is; else none.
  mutating func findRing() -> [WaitGraph.Wait] {
    while let wait = open.popLast() { ask(wait) }
    let isStuck = stuck.solve()
    guard isStuck[waits.count - 1] else { return [] }
    return waits.indices.filter { isAsked[$0] && isStuck[$0] }.map { waits[$0] }
  }

  /// Gives the references up. No lock is held.
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

  /// Follows what keeps these operations back, each of which comes with a reference.
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
      // Most of them need the turn that the last one needs, too.
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

  /// What the last wait is for may come to pass while a long search is made.
  private var isOwnWaitOver: Bool {
    guard case .operation(let slot) = waits[waits.count - 1].target else { return false }
    return slot.loadWord().isEnded
  }

  /// The executor cannot be drained when all threads that may do so are held up.
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

  /// Names a way round: from the last wait to what it is for, to who holds that, and on to itself.
  func report(_ ring: [WaitGraph.Wait]) -> Report {
    let last = waits.count - 1
    let stuck = Set(ring.map { $0.number })
    /// Whence each wait was come to, and by which hindrance.
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

  /// By their bytes: see `Bytes`.
  private static func isSame(_ left: String?, _ right: String) -> Bool {
    left?.utf8.elementsEqual(right.utf8) == true
  }
}

extension WaitGraph.Wait {
  /// Where the work was enqueued whose call it is in; unknown outside of work.
  fileprivate var site: Site {
    guard let frame = frames.first(where: { $0.lane != nil }), let lane = frame.lane else {
      return .unknown
    }
    return lane.site(ofCallIn: frame)
  }

  /// The queue or the value in whose callback the thread is.
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
