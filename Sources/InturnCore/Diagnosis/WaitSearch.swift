/// A search for a ring among waits, the last of which is part of it.
///
/// It asks what each wait is for, and what blocks that: in the terms of `StuckWaits`, hindrances and
/// their holders. Only waits that hold something relevant are asked. The chain of operations that block
/// each other is followed with a list, not by recursion.
///
/// To `StuckWaits`, an operation that somebody waits in is a wait, too: it is stuck while any wait
/// inside it is, so that several of them take its place once.
struct WaitSearch {
  /// What is held and others may need, as one word: an address and one of these.
  private enum Resource: UInt {
    /// A thread is inside a callback of the lane.
    case inside
    /// A thread is one of the lane's drainers.
    case drainer
    /// An operation of the lane keeps its place.
    case place
    /// The operation's work is being called, or its token is held.
    case operation
    /// A thread drains the executor.
    case executor
    /// A thread is the only one that may drain the executor.
    case loop
  }

  /// Who holds a resource, and the hindrances that were asked for: for how many of its places, and nil
  /// for one that can never apply.
  private struct Held {
    var holders: [StuckWaits.Holder] = []
    var hindrances: [(places: UInt64, hindrance: Int?)] = []
    /// Of a lane's places: the waits of tasks in it are known.
    var isComplete = false
  }

  /// Somebody who waits, or an operation in which somebody does.
  private struct Node {
    /// Nil for an operation.
    let wait: WaitGraph.Wait?
    /// An operation's lane, and the waits inside it.
    var lane: UInt = 0
    var inside: [Int] = []
    /// The hindrances that keep it.
    var keepers: [Int] = []
    /// It is to be asked, or was.
    var isAsked = false
    /// From which node, and by which hindrance, a report has reached it.
    var origin: (node: Int, hindrance: Int)?
    var isStuck = false
  }

  private enum Name {
    case lane(Lane.Pointer)
    case trail(TrailBase)
    /// An operation is held up by a wait inside it, which is no step of its own.
    case none

    var text: Text? {
      switch self {
      case .lane(let lane): lane.describedForReports
      case .trail(let trail): trail.describedForReports
      case .none: nil
      }
    }
  }

  private let last: WaitGraph.Wait
  private var lastNode = 0
  private var nodes: [Node] = []
  private var stuck = StuckWaits()
  private var held: [Held] = []
  /// For each resource, and for each task's wait, its place in `held` or `nodes`.
  private var places: [UInt: Int] = [:]
  /// For each hindrance, the holders of its places, and the name that a report gives it.
  private var details: [(holders: [StuckWaits.Holder], name: Name)] = []
  /// The nodes still to be asked.
  private var open: [Int] = []
  /// References that the search has taken.
  private var references: [OperationSlot.Pointer] = []
  /// How many more operations may be looked at, and how many at once in one queue, so that a wait with
  /// a time limit is not late, and a task's thread not held up. A wait that would need more is not
  /// refused.
  private var looks: Int
  private let reach: Int
  static var reachOfTasks: Int { 16_000 }

  /// The waits of all threads that came before the last one, and this.
  init(_ threads: [WaitGraph.Wait], _ last: WaitGraph.Wait) {
    self.last = last
    (looks, reach) = last.task == nil ? (100_000, 160_000) : (1_000, Self.reachOfTasks)
    for wait in threads { _ = addThread(wait) }
    lastNode = last.task == nil ? addThread(last) : node(ofTask: last)
    markOpen(lastNode)
  }

  // MARK: Who holds what

  private mutating func addNode(_ wait: WaitGraph.Wait?) -> Int {
    nodes.append(Node(wait: wait))
    stuck.addWait()
    return nodes.count - 1
  }

  private mutating func place(of resource: Resource, _ address: UInt) -> Int {
    // All addresses are multiples of eight.
    let key = address | resource.rawValue
    if let place = places[key] { return place }
    places[key] = held.count
    held.append(Held())
    return held.count - 1
  }

  private mutating func hold(_ resource: Resource, _ address: UInt, _ node: Int) {
    let place = place(of: resource, address)
    let lastHolder = held[place].holders.count - 1
    if lastHolder >= 0 && held[place].holders[lastHolder].wait == node {
      held[place].holders[lastHolder].places += 1
    } else {
      held[place].holders.append(.init(wait: node, places: 1))
    }
  }

  @inline(never)
  private mutating func addThread(_ wait: WaitGraph.Wait) -> Int {
    let node = addNode(wait)
    for frame in wait.frames {
      if let executor = frame.executor { hold(.executor, Self.address(executor.toOpaque()), node) }
      guard let lane = frame.lane else { continue }
      hold(.inside, Self.address(lane), node)
      if let operation = frame.operation, frame.isNotice || frame.isCutOff {
        hold(.operation, Self.address(operation), node)
      }
      if frame.isNotice || frame.isCutOff { continue }
      hold(.drainer, Self.address(lane), node)
      if let operation = frame.operation {
        enter(node, .init(lane, Self.address(operation)))
      }
    }
    return node
  }

  /// Notes that a wait is inside an operation that keeps its place.
  private mutating func enter(_ wait: Int, _ holder: TaskWait.Holder) {
    let operation = place(of: .operation, holder.operation)
    let node: Int
    if let known = held[operation].holders.first(where: { nodes[$0.wait].wait == nil }) {
      node = known.wait
    } else {
      node = addNode(nil)
      held[operation].holders.append(.init(wait: node, places: 1))
      nodes[node].lane = holder.lane
      hold(.place, holder.lane, node)
    }
    nodes[node].inside.append(wait)
  }

  /// The node of a task's wait, together with the operations that it is inside of.
  private mutating func node(ofTask wait: WaitGraph.Wait) -> Int {
    let key = Self.address(Unmanaged.passUnretained(wait).toOpaque())
    if let known = places[key | 7] { return known }
    let node = addNode(wait)
    places[key | 7] = node
    for holder in WaitGraph.state(of: wait).holders { enter(node, holder) }
    return node
  }

  /// Gets to know the tasks that wait inside operations of the lane.
  private mutating func complete(_ lane: UInt) {
    let place = place(of: .place, lane)
    if held[place].isComplete { return }
    held[place].isComplete = true
    for wait in WaitGraph.tasks(in: lane, before: last) { _ = node(ofTask: wait) }
  }

  private static func address(_ pointer: UnsafeMutableRawPointer) -> UInt {
    UInt(bitPattern: pointer)
  }

  // MARK: Asking

  /// Whether the last wait is stuck.
  mutating func findsRing() -> Bool {
    while let node = open.popLast() { ask(node) }
    for (node, isStuck) in stuck.solve().enumerated() {
      nodes[node].isStuck = isStuck && nodes[node].isAsked
    }
    return nodes[lastNode].isStuck
  }

  /// The waits that are stuck.
  var ring: [WaitGraph.Wait] { nodes.compactMap { $0.isStuck ? $0.wait : nil } }

  /// Drops the references. No lock is held.
  mutating func letGo() {
    for slot in references { slot.dropReference() }
    references = []
  }

  private mutating func ask(_ node: Int) {
    guard let wait = nodes[node].wait else {
      for wait in nodes[node].inside {
        keep(node, by: add(places: 1, [.init(wait: wait, places: 1)], .none))
      }
      return
    }
    switch wait.target {
    case .queue(let lane):
      if let batch = wait.batch { keepUntilOver(node, batch) } else { keepUntilQuiet(node, lane) }
    case .calls(of: let lane): keep(node, by: .inside, lane, places: 1)
    case .operation:
      if let slot = WaitGraph.operation(of: wait) { keepUntilEnded(node, slot) }
    case .observers(of: let trail, let what):
      keepByCaller(node, .trail(trail)) {
        $0.frames.contains { $0.call?.isAwaited(by: what, of: trail) == true }
      }
      guard case .told = what else { break }
      for queue in trail.queues(for: what) {
        guard let lane = Engine.lane(queue), lane.isOf(queue) else { continue }
        keepUntilStarted(node, lane, .beforeTelling(trail))
      }
    case .needs: for need in WaitGraph.state(of: wait).needs { keep(node, by: need) }
    }
  }

  private mutating func keep(_ node: Int, by need: TaskWait.Need) {
    switch need {
    case .end(of: let holder):
      complete(holder.lane)
      guard let lane = Lane.Pointer(bitPattern: holder.lane) else { return }
      keep(node, by: .operation, holder.operation, places: 1, .lane(lane))
    case .place(in: let queue, outOf: let places):
      guard let lane = Engine.lane(queue) else { return }
      keep(node, by: .place, lane, places: UInt64(max(1, places)))
    case .operation(let id):
      if let slot = OperationSlot.Pointer.find(told: id).1 { keepUntilEnded(node, slot) }
    case .quiet(let queue):
      guard let lane = Engine.lane(queue), lane.isOf(queue) else { return }
      keepUntilQuiet(node, lane)
    case .batch(let handle):
      if let batch = Engine.batch(handle).1 { keepUntilOver(node, batch) }
    }
  }

  /// The operation has to end; its call may go on. Takes over a reference to it.
  private mutating func keepUntilEnded(_ node: Int, _ slot: OperationSlot.Pointer) {
    if slot.loadWord().isEnded { references.append(slot) } else { follow([slot], node) }
  }

  /// Everything in the lane has to end.
  @inline(never)
  private mutating func keepUntilQuiet(_ node: Int, _ lane: Lane.Pointer) {
    keep(node, by: .inside, lane, places: 1)
    keep(node, by: .place, lane, places: 1)
    keepByHost(node, lane)
    var pending: [OperationSlot.Pointer] = []
    lane.addPending(.anywhere, to: &pending, strays: &references, reach: reach)
    follow(pending, node)
  }

  /// The calls that these waits are inside of have to return.
  @inline(never)
  private mutating func keepByCaller(
    _ node: Int, _ name: Name, _ isIt: (WaitGraph.Wait) -> Bool
  ) {
    var holders: [StuckWaits.Holder] = []
    for (other, entry) in nodes.enumerated() {
      if let wait = entry.wait, isIt(wait) { holders.append(.init(wait: other, places: 1)) }
    }
    keep(node, by: add(places: 1, holders, name))
  }

  /// All operations of the batch have to end, and a drainer to call its completion.
  @inline(never)
  private mutating func keepUntilOver(_ node: Int, _ batch: Batch) {
    guard let lane = Engine.lane(batch.queue), lane.isOf(batch.queue),
      // So many at most, as the batch is locked meanwhile.
      let rest = batch.rest(looks: min(looks, 10_000))
    else { return }
    references += rest.started
    let address = UnsafeRawPointer(Unmanaged.passUnretained(batch).toOpaque())
    keepByCaller(node, .lane(lane)) { $0.frames.contains { $0.batch == address } }
    if rest.completer != 0 {
      keepByCaller(node, .lane(lane)) { $0.thread == rest.completer }
    } else {
      keepUntilDrained(node, lane, lane.turn.drainers)
    }
    if !rest.started.isEmpty { complete(Self.address(lane)) }
    for slot in rest.started {
      keep(node, by: .operation, Self.address(slot), places: 1, .lane(lane))
    }
    if rest.hasJobs { keepUntilStarted(node, lane, .beforeBatch(batch)) }
    follow(rest.pending, node)
  }

  /// Jobs without slots have to be started.
  @inline(never)
  private mutating func keepUntilStarted(
    _ node: Int, _ lane: Lane.Pointer, _ place: Lane.Pointer.Place
  ) {
    let (places, drainers) = lane.turn
    var earlier: [OperationSlot.Pointer] = []
    let isBehind = lane.addPending(place, to: &earlier, strays: &references, reach: reach)
    // A barrier has all of them.
    if places > 0 { keep(node, by: .place, lane, places: isBehind ? 1 : places) }
    keepUntilDrained(node, lane, drainers)
    follow(earlier, node)
  }

  @inline(never)
  private mutating func keepUntilDrained(_ node: Int, _ lane: Lane.Pointer, _ drainers: UInt64) {
    keep(node, by: .drainer, lane, places: drainers)
    keepByHost(node, lane)
  }

  /// Follows what blocks these operations. Takes over a reference to each.
  @inline(never)
  private mutating func follow(_ slots: [OperationSlot.Pointer], _ node: Int) {
    references += slots
    var open = slots
    var seen: [UInt: Int] = [:]
    for slot in slots { seen[Self.address(slot)] = 0 }
    var earlier: [OperationSlot.Pointer] = []
    var lastTurn: (lane: Lane.Pointer, places: UInt64)?
    while let slot = open.popLast(), looks > 0 {
      looks -= 1
      let lane = slot.lane
      switch lane.whatKeepsBack(slot, &earlier, strays: &references, reach: reach) {
      case .nothing, .others: break
      case .itsWork:
        complete(Self.address(lane))
        keep(node, by: .operation, Self.address(slot), places: 1, .lane(lane))
      case .turn(let places, let drainers, _):
        // Most of them need the same turn as the one before.
        if lastTurn?.lane == lane && lastTurn?.places == places { break }
        lastTurn = (lane, places)
        if places > 0 { keep(node, by: .place, lane, places: places) }
        keepUntilDrained(node, lane, drainers)
      }
      references += earlier
      for other in earlier where seen.updateValue(0, forKey: Self.address(other)) == nil {
        open.append(other)
      }
      earlier.removeAll(keepingCapacity: true)
      if looks & 1023 == 0 && isOwnWaitOver { looks = 0 }
    }
  }

  /// What the last wait is for may happen during a long search.
  private var isOwnWaitOver: Bool {
    guard case .operation(let slot) = last.target else { return false }
    return slot.loadWord().isEnded
  }

  /// The executor cannot be drained while all threads that may drain it are held up.
  private mutating func keepByHost(_ node: Int, _ lane: Lane.Pointer) {
    let (former, present) = lane.hostsToDrain
    if let former { keep(node, by: former, lane) }
    if let present { keep(node, by: present, lane) }
  }

  @inline(never)
  private mutating func keep(_ node: Int, by host: HostExecutor, _ lane: Lane.Pointer) {
    let address = Self.address(Unmanaged<Executor>.passUnretained(host).toOpaque())
    keep(node, by: .executor, address, places: UInt64(host.places), .lane(lane))
    let loop = place(of: .loop, address)
    if held[loop].hindrances.isEmpty {
      for (node, entry) in nodes.enumerated() {
        if let wait = entry.wait, wait.task == nil, host.isDrainedAlone(by: wait) {
          held[loop].holders.append(.init(wait: node, places: 1))
        }
      }
    }
    keep(node, by: .loop, address, places: 1, .lane(lane))
  }

  private mutating func keep(
    _ node: Int, by resource: Resource, _ lane: Lane.Pointer, places: UInt64
  ) {
    if resource == .place { complete(Self.address(lane)) }
    keep(node, by: resource, Self.address(lane), places: places, .lane(lane))
  }

  private mutating func keep(
    _ node: Int, by resource: Resource, _ address: UInt, places: UInt64, _ name: Name
  ) {
    let place = place(of: resource, address)
    if let known = held[place].hindrances.first(where: { $0.places == places }) {
      keep(node, by: known.hindrance)
      return
    }
    let hindrance = add(places: places, held[place].holders, name)
    held[place].hindrances.append((places, hindrance))
    keep(node, by: hindrance)
  }

  private mutating func keep(_ node: Int, by hindrance: Int?) {
    guard let hindrance, !nodes[node].keepers.contains(hindrance) else { return }
    nodes[node].keepers.append(hindrance)
    stuck.keep(node, by: hindrance)
  }

  private mutating func add(
    places: UInt64, _ holders: [StuckWaits.Holder], _ name: Name
  ) -> Int? {
    guard let hindrance = stuck.add(places: places, holders: holders) else { return nil }
    details.append((holders, name))
    for holder in holders { markOpen(holder.wait) }
    return hindrance
  }

  private mutating func markOpen(_ node: Int) {
    if nodes[node].isAsked { return }
    nodes[node].isAsked = true
    open.append(node)
  }

  // MARK: Telling

  /// Names a path: from the last wait to what it is for, to the holder of that, and so back to itself.
  mutating func report() -> Report {
    var next = [lastNode]
    var count = 0
    while count < next.count, nodes[lastNode].origin == nil {
      let node = next[count]
      count += 1
      for hindrance in nodes[node].keepers {
        for holder in details[hindrance].holders
        where nodes[holder.wait].origin == nil && nodes[holder.wait].isStuck {
          nodes[holder.wait].origin = (node, hindrance)
          next.append(holder.wait)
        }
      }
    }
    var names: [Text] = []
    var place = lastNode
    while let origin = nodes[place].origin {
      if let name = details[origin.hindrance].name.text { names.append(name) }
      if case .queue(let lane)? = nodes[origin.node].wait?.target {
        let name = lane.describedForReports
        if names.last != name { names.append(name) }
      }
      place = origin.node
      if place == lastNode { break }
    }
    let caller = nameOfWaiter
    let isClosed = names.first == caller
    names.append(caller)
    names.reverse()
    if !isClosed { names.append(caller) }
    return .deadlock(ring: names, of: last.origin, at: last.site)
  }

  /// The queue or value that the last wait is inside of.
  private var nameOfWaiter: Text {
    if last.task == nil { return last.nameOfWaiter }
    // The operation through which the path has come, which need not be the innermost.
    let operation = nodes[lastNode].origin.flatMap { Lane.Pointer(bitPattern: nodes[$0.node].lane) }
    return operation?.describedForReports ?? "an operation"
  }
}

extension WaitGraph.Wait {
  /// Where the work was enqueued that this call belongs to; unknown outside of work.
  fileprivate var origin: Site {
    if let task { return task.origin }
    guard let frame = frames.first(where: { $0.lane != nil }), let lane = frame.lane else {
      return .unknown
    }
    return lane.site(ofCallIn: frame)
  }

  /// The queue or value whose callback the thread is in.
  fileprivate var nameOfWaiter: Text {
    for frame in frames {
      if let lane = frame.lane { return lane.describedForReports }
      if let call = frame.call {
        return call.trail._withUnsafeGuaranteedRef { $0.describedForReports }
      }
    }
    return "the main thread"
  }
}
