import CInturnSystem
import TestSupport
import Testing

@testable import InturnCore

/// The engine's memory has the layout in `CInturnSystem/Layout.h`, for readers from outside.
/// `Tests/Outside` compares what is read from a whole process with what the process tells of itself.
@Suite struct LayoutTests {
  /// A value's zeroed memory, as the engine sees it and as the reader does.
  private struct Both<Value: ~Copyable, Read> {
    let value: UnsafeMutablePointer<Value>
    let read: UnsafeMutablePointer<Read>

    init(_: Value.Type = Value.self, _: Read.Type) {
      let size = max(MemoryLayout<Value>.stride, MemoryLayout<Read>.stride)
      let memory = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
      memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
      value = memory.assumingMemoryBound(to: Value.self)
      read = memory.assumingMemoryBound(to: Read.self)
    }

    func deallocate() { read.deallocate() }
  }

  private func bits(_ pointer: UnsafeRawPointer?) -> UInt64 { UInt64(UInt(bitPattern: pointer)) }

  private func address(_ object: AnyObject) -> UInt64 {
    bits(Unmanaged.passUnretained(object).toOpaque())
  }

  private func read<Read>(_ object: AnyObject, as _: Read.Type) -> Read {
    withExtendedLifetime(object) {
      UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
        .assumingMemoryBound(to: Read.self).pointee
    }
  }

  @Test func `a lane lies as it is read`() {
    let lane = Both(Lane.self, inturn_layout_lane.self)
    defer { lane.deallocate() }
    let (head, tail) = (Chunk.Pointer(bitPattern: 64)!, Chunk.Pointer(bitPattern: 128)!)
    lane.value.pointee.generation = 1
    lane.value.pointee.machine.flags = .suspended
    lane.value.pointee.machine.scheduled = 2
    lane.value.pointee.machine.active = 3
    lane.value.pointee.machine.running = 4
    lane.value.pointee.pending = 5
    lane.value.pointee.buffer = JobBuffer(head: head, tail: tail)
    lane.value.pointee.firstRunning = 6
    lane.value.pointee.burstGeneration = 7
    lane.value.pointee.finished = 8
    let label = UnsafeMutablePointer<CChar>(bitPattern: 256)!
    lane.value.pointee.more.setLabel(label)
    let read = lane.read.pointee
    #expect(MemoryLayout<Lane>.stride == MemoryLayout<inturn_layout_lane>.stride)
    #expect((read.generation, read.flags, read.scheduled, read.active) == (1, 2, 2, 3))
    #expect((read.running, read.pending, read.buffer.head, read.buffer.tail) == (4, 5, 64, 128))
    #expect((read.first_running, read.burst_generation, read.finished) == (6, 7, 8))
    #expect(~read.more == 256)
  }

  @Test func `what only some lanes have lies as it is read`() {
    let extra = Both(LaneExtra.self, inturn_layout_extra.self)
    let pace = Both(Pace.self, inturn_layout_pace.self)
    defer {
      extra.value.deinitialize(count: 1)
      extra.deallocate()
      pace.deallocate()
    }
    let reason = KeptText("reason")
    extra.value.initialize(to: LaneExtra())
    extra.value.pointee.settings.limit = 1
    extra.value.pointee.backlog.segments = 2
    _ = extra.value.pointee.suspensions.add(nil, at: Site(bits: 3))
    _ = extra.value.pointee.suspensions.add(reason.bytes, at: Site(bits: 4))
    extra.value.pointee.pace = pace.value
    extra.value.pointee.ends.add(.failed, 5)
    extra.value.pointee.ends.add(.abandoned, 6)
    extra.value.pointee.ends.keepingPlaces = 7
    extra.value.pointee.quiet.waiters = 8
    let read = extra.read.pointee
    #expect((read.limit, read.segments, read.suspends, read.suspended_at) == (1, 2, 2, 3))
    #expect((read.failed, read.abandoned, read.keeping_places, read.waiters) == (5, 6, 7, 8))
    #expect((read.reason_count, read.pace) == (1, bits(pace.value)))
    let first = UnsafePointer<inturn_layout_reason>(bitPattern: UInt(read.first_reason))!
    #expect((first.pointee.count, first.pointee.site) == (1, 4))
    extra.value.pointee.pace = nil

    pace.value.initialize(to: Pace())
    pace.value.pointee.hold(until: 9)
    let paced = pace.read.pointee
    #expect((paced.is_visible, paced.ready_at, paced.has_no_rate) == (1, 9, 1))
    var rate = StartRate(starts: 3, interval: 10, burst: 2)
    rate?.take(at: 11)
    pace.value.pointee.change(rate, at: 12)
    let rated = pace.read.pointee
    #expect((rated.starts, rated.interval, rated.burst, rated.has_no_rate) == (3, 10, 2, 0))
    #expect((rated.full, rated.part) == (14, 1))
  }

  @Test func `a lane's order lies as it is read`() {
    let order = Both(LaneOrder.self, inturn_layout_order.self)
    defer {
      order.value.deinitialize(count: 1)
      order.deallocate()
    }
    order.value.initialize(to: LaneOrder())
    order.value.pointee.fence = OperationSlot.Pointer(bitPattern: 128)
    order.value.pointee.isFenceRunning = true
    order.value.pointee.firstBlocked = 1
    order.value.pointee.blocked = 2
    #expect(order.value.push(Job(context: nil, destroy: nil), priority: 3))
    let read = order.read.pointee
    #expect((read.fence, read.is_fence_running) == (128, 1))
    #expect((read.first_blocked, read.blocked, read.level_count) == (1, 2, 1))
    let levels = UnsafePointer<UnsafePointer<inturn_layout_level>>(
      bitPattern: UInt(read.levels))!
    #expect(levels[0].pointee.priority == 3)
    let head = UnsafePointer<inturn_layout_chunk>(bitPattern: UInt(levels[0].pointee.jobs.head))!
    #expect((head.pointee.count, head.pointee.start, head.pointee.capacity) == (1, 0, 8))
    #expect(MemoryLayout<Chunk>.stride == MemoryLayout<inturn_layout_chunk>.stride)
    #expect(MemoryLayout<Job>.stride == MemoryLayout<inturn_layout_job>.stride)
    _ = order.value.pop(ages: false)
    order.value.pointee.fence = nil
  }

  @Test func `a slot and what it has lie as they are read`() {
    let slot = Both(OperationSlot.self, inturn_layout_slot.self)
    let details = Both(OperationDetails.self, inturn_layout_details.self)
    let plan = Both(OperationPlan.self, inturn_layout_plan.self)
    let edge = Both(Edge.self, inturn_layout_edge.self)
    defer {
      slot.deallocate()
      details.deallocate()
      plan.deallocate()
      edge.deallocate()
    }
    #expect(MemoryLayout<OperationSlot>.stride == MemoryLayout<inturn_layout_slot>.stride)
    slot.value.pointee.link = 1
    slot.value.pointee.word.store(2, ordering: .relaxed)
    slot.value.pointee.laneAddress.store(3, ordering: .relaxed)
    slot.value.pointee.context = UnsafeMutableRawPointer(bitPattern: 4)
    slot.value.pointee.index = 5
    (slot.value.pointee.enqueuedAt, slot.value.pointee.startedAt) = (6, 7)
    slot.value.pointee.details = details.value
    slot.value.pointee.flags = .counted
    slot.value.pointee.laneGeneration = 8
    let read = slot.read.pointee
    #expect((read.link, read.word, read.lane, read.context) == (1, 2, 3, 4))
    #expect((read.index, read.enqueued_at, read.started_at) == (5, 6, 7))
    #expect((read.details, read.flags, read.lane_generation) == (bits(details.value), 1, 8))

    details.value.initialize(to: OperationDetails())
    details.value.pointee.label = UnsafeMutablePointer(bitPattern: 9)
    details.value.pointee.plan = plan.value
    #expect((details.read.pointee.label, details.read.pointee.plan) == (9, bits(plan.value)))

    let groups = OperationGroups.make(key: nil, owner: nil, joins: true)
    defer {
      groups.deinitialize(count: 1)
      groups.deallocate()
    }
    details.value.pointee.groups = groups
    #expect(details.read.pointee.groups == bits(groups))
    groups.pointee.isFollowing = true
    let owner = Owner(capacity: 0)
    groups.pointee.owner = owner
    let grouped = UnsafeRawPointer(groups).assumingMemoryBound(to: inturn_layout_groups.self)
    #expect(
      (grouped.pointee.joins, grouped.pointee.is_following, grouped.pointee.party) == (1, 1, 0))
    #expect(grouped.pointee.owner == address(owner))
    #expect(owner.add(slot.value) == .ok)
    #expect(self.read(owner, as: inturn_layout_owner.self).operations == 1)
    owner.remove(slot.value)

    plan.value.initialize(to: OperationPlan())
    (plan.value.pointee.blockers, plan.value.pointee.priority) = (10, -11)
    (plan.value.pointee.isBarrier, plan.value.pointee.isUrgent) = (true, true)
    plan.value.pointee.attempts = 12
    plan.value.pointee.edges = edge.value
    plan.value.pointee.linkedCount = 13
    plan.value.pointee.handleGeneration = 14
    plan.value.pointee.retryAt = 15
    let planned = plan.read.pointee
    #expect((planned.blockers, planned.priority, planned.attempts) == (10, -11, 12))
    #expect((planned.is_barrier, planned.is_urgent, planned.linked) == (1, 1, 13))
    #expect((planned.edges, planned.handle_generation) == (bits(edge.value), 14))
    #expect((planned.retry_at, planned.names) == (15, 0))

    edge.value.pointee.earlier = slot.value
    edge.value.pointee.earlierGeneration = 16
    #expect(
      (edge.read.pointee.earlier, edge.read.pointee.earlier_generation) == (bits(slot.value), 16))
    #expect(MemoryLayout<Edge>.stride == MemoryLayout<inturn_layout_edge>.stride)
  }

  @Test func `clocks, owners and batches lie as they are read`() {
    let clock = Clock(isManual: true)
    let timer = TimerNode.Pointer.make()
    #expect(clock.advance(by: 7))
    clock.arm(timer, at: 100, for: .clock(clock))
    let told = read(clock, as: inturn_layout_clock.self)
    #expect((told.is_manual, told.armed, told.manual_time) == (1, 1, 7))
    clock.disarm(timer)
    timer.deallocate()
    let system = read(Clock(isManual: false), as: inturn_layout_clock.self)
    #expect((system.is_manual, system.armed) == (0, 0))

    let batch = Batch(BatchOptions(), queue: Handle(bits: 5), count: 3)!
    #expect(!batch.withDecision { $0.add(.finished, of: 0) })
    let isHeld = [BatchEdge(place: 2, after: 0)].withUnsafeBufferPointer { batch.hold($0) }
    #expect(isHeld)
    let held = read(batch, as: inturn_layout_batch.self)
    #expect((held.queue, held.count, held.entry_count, held.ended, held.label) == (5, 3, 3, 1, 0))
    #expect(held.graph != 0 && held.graph == bits(batch.graph))
    let item = BatchItem(work: { _, _ in }, context: nil, destroy: nil)
    let entry = batch.fill(2, with: item)
    let entries = UnsafePointer<inturn_layout_batch_entry>(bitPattern: UInt(held.entries))!
    #expect(bits(entries + 2) == bits(entry))
    #expect(entries[2].batch == address(batch))
    entry.pointee.slot = OperationSlot.Pointer(bitPattern: 128)
    #expect(entries[2].slot == 128)
    entry.pointee.slot = nil

    let graph = BatchGraph.Pointer.allocate(capacity: 1)
    defer {
      graph.deinitialize(count: 1)
      graph.deallocate()
    }
    [BatchEdge(place: 2, after: 0)].withUnsafeBufferPointer {
      graph.initialize(to: BatchGraph($0, count: 3, batch: .passUnretained(batch))!)
    }
    graph.pointee.next = graph
    let lying = UnsafeRawPointer(graph).assumingMemoryBound(to: inturn_layout_graph.self).pointee
    #expect((lying.held, lying.batch, lying.next) == (1, address(batch), bits(graph)))
    let starts = UnsafePointer<UInt32>(bitPattern: UInt(lying.starts))!
    #expect((starts[0], starts[1], starts[3]) == (0, 1, 1))
    #expect(UnsafePointer<UInt32>(bitPattern: UInt(lying.places))!.pointee == 2)
  }

  /// The elements of an array of objects.
  private func elements(at array: UInt64) -> [UInt64] {
    let header = UnsafePointer<inturn_layout_array>(bitPattern: UInt(array))!
    let first = UnsafeRawPointer(header + 1).assumingMemoryBound(to: UInt64.self)
    return Array(UnsafeBufferPointer(start: first, count: Int(header.pointee.count)))
  }

  @Test func `waits lie as they are read`() throws {
    let engine = UnsafeRawPointer(Engine.current).assumingMemoryBound(
      to: inturn_layout_engine.self)
    let storage = UnsafePointer<inturn_layout_waits>(bitPattern: UInt(engine.pointee.waits))!
    let queues = (0..<2).map { _ in
      Engine.createQueue(.init(kind: .fifo), executor: .init(bits: 0), clock: .init(bits: 0)).1
    }
    defer { for queue in queues { #expect(Engine.destroy(queue: queue) == .ok) } }
    let lanes = queues.map { Engine.lane($0)! }

    let entered = CallFrame(lane: lanes[0]).enter { WaitGraph.enter(.queue(lanes[1])) }
    let entry = try #require(entered)
    let waiting = try #require(entry.wait)
    let wait = read(waiting, as: inturn_layout_wait.self)
    #expect((wait.number, wait.thread) == (waiting.number, UInt64(waiting.thread)))
    #expect(wait.site == 0)
    #expect((wait.target, wait.target_kind >> 5) == (bits(lanes[1]), 0))
    #expect((wait.storage, wait.is_decided, wait.is_there) == (engine.pointee.waits, 1, 1))
    #expect(elements(at: storage.pointee.threads).contains(address(waiting)))
    let frames = UnsafePointer<inturn_layout_array>(bitPattern: UInt(wait.frames))!
    let first = UnsafeRawPointer(frames + 1).assumingMemoryBound(to: inturn_layout_frame.self)
    #expect((frames.pointee.count, first.pointee.lane) == (1, bits(lanes[0])))
    typealias Frame = MemoryLayout<inturn_layout_frame>
    #expect(MemoryLayout<CallFrame>.stride == Frame.stride)
    #expect(MemoryLayout<CallFrame>.offset(of: \.isNotice) == Frame.offset(of: \.is_notice))
    #expect(MemoryLayout<CallFrame>.offset(of: \.operation) == Frame.offset(of: \.operation))
    WaitGraph.leave(entry)
    #expect(read(waiting, as: inturn_layout_wait.self).is_there == 0)

    let task = TaskWait(
      inside: { [TaskWait.Holder(lanes[0], 8)] }, needing: { [.quiet(queues[1])] },
      at: Site("File.swift", 7), awaiting: queues[1])
    #expect(read(task, as: inturn_layout_task.self).awaited == queues[1].bits)
    let begun = try WaitGraph.enter(task)
    let ofTask = try #require(begun.wait)
    let told = read(ofTask, as: inturn_layout_wait.self)
    #expect((told.target, told.target_kind >> 5) == (address(task), 4))
    #expect(told.site == task.site.bits && told.site != 0)
    let places = elements(at: told.places)
    let place = UnsafePointer<inturn_layout_task_place>(bitPattern: UInt(places[0]))!.pointee
    #expect((place.lane, place.wait, place.next) == (bits(lanes[0]), address(ofTask), 0))
    #expect(elements(at: storage.pointee.tasks).contains(places[0]))
    WaitGraph.leave(begun)

    let trail = TrailBase(word: 1, label: "a label")
    let lying = read(trail, as: inturn_layout_trail.self)
    #expect((lying.word, label(at: lying.label)) == (1, "a label"))
    let slot = OperationSlot.Pointer(bitPattern: 128)!
    let targets: [(WaitGraph.Target, UInt64)] = [
      (.calls(of: lanes[0]), bits(lanes[0])), (.operation(slot), 128),
      (.observers(of: trail, .mail), address(trail)),
    ]
    for (number, (target, expected)) in zip(1..., targets) {
      withUnsafeBytes(of: target) {
        #expect($0.load(as: UInt64.self) == expected)
        #expect(Int($0[16] >> 5) == number)
      }
    }
  }

  @Test func `the engine is found by its mark, and its tables lie as they are read`() {
    let engine = Engine.current
    let process = UnsafeRawPointer(inturn_system_state()).advanced(by: -20)
      .assumingMemoryBound(to: inturn_layout_process.self)
    #expect(
      String(cString: UnsafeRawPointer(process).assumingMemoryBound(to: CChar.self))
        == INTURN_LAYOUT_MARK)
    #expect(
      (process.pointee.number, process.pointee.engine) == (
        UInt32(INTURN_LAYOUT_NUMBER), bits(engine)
      ))
    let read = UnsafeRawPointer(engine).assumingMemoryBound(to: inturn_layout_engine.self)
    #expect(read.pointee.pool == bits(engine.pointee.poolReference.toOpaque()))

    let queue = Engine.createQueue(
      .init(kind: .fifo), executor: .init(bits: 0), clock: .init(bits: 0)
    ).1
    defer { #expect(Engine.destroy(queue: queue) == .ok) }
    let segments = UnsafePointer<UInt64>(bitPattern: UInt(read.pointee.lanes.directory))!
    let segment = Int(INTURN_LAYOUT_SEGMENT)
    let lane = segments[Int(queue.index) / segment] + UInt64(Int(queue.index) % segment * 64)
    #expect(lane == bits(engine.pointee.lanes.pointer(at: queue.index)))
    let indices = UnsafePointer<inturn_layout_indices>(
      bitPattern: UInt(read.pointee.lanes.indices))!
    #expect((indices.pointee.begin..<indices.pointee.unused) == engine.pointee.lanes.givenOut)

    let objects = UnsafePointer<inturn_layout_objects>(bitPattern: UInt(read.pointee.objects))!
    func first(in slab: inturn_layout_object_slab) -> UnsafePointer<inturn_layout_object> {
      let segments = UnsafePointer<UInt64>(bitPattern: UInt(slab.slots.directory))!
      return UnsafePointer(bitPattern: UInt(segments[0]))! + 1
    }
    let executors = first(in: objects.pointee.executors)
    #expect((executors[0].generation, executors[0].object) == (1, read.pointee.pool))
    let pool = UnsafePointer<inturn_layout_pool>(bitPattern: UInt(executors[0].object))!
    #expect(pool.pointee.executor.handle == engine.pointee.poolHandle.bits)
    #expect(pool.pointee.size == UInt64(engine.pointee.pool.size))
    let clock = Clock(isManual: true)
    let fresh = WorkerPool(target: 3, maximum: 5, label: nil, clock: clock)
    let unused = self.read(fresh, as: inturn_layout_pool.self)
    let workers = UnsafePointer<inturn_layout_array>(bitPattern: UInt(unused.workers))!
    #expect((unused.size, workers.pointee.count) == (3, 0))
    #expect(workers.pointee.capacity >> 1 >= 5)
    let shared = UnsafePointer<inturn_layout_shared>(bitPattern: UInt(unused.executor.shared))!
    fresh.appendLocked(ReadyRing.Item(lane: Lane.Pointer(bitPattern: UInt(lane))!))
    _ = fresh.machine.provide(for: 1)
    #expect(shared.pointee.first == lane)
    #expect((shared.pointee.count, shared.pointee.taken, shared.pointee.capacity) == (1, 0, 16))
    #expect((shared.pointee.threads, shared.pointee.coming, shared.pointee.parked) == (1, 1, 0))
    #expect(shared.pointee.lock & 0xFFFF == 0)
    fresh.lock.withLock { #expect(shared.pointee.lock & 0xFFFF == 1) }
    #expect(read.pointee.system_clock == bits(engine.pointee.systemClockReference.toOpaque()))
    let slabs = [
      objects.pointee.executors, objects.pointee.clocks, objects.pointee.owners,
      objects.pointee.batches,
    ]
    let kinds: [HandleKind] = [.executor, .clock, .owner, .batch]
    #expect(slabs.map { Int($0.kind) } == kinds.map { HandleKind.allCases.firstIndex(of: $0) })
    let main = UnsafePointer<inturn_layout_host>(bitPattern: UInt(executors[1].object))!
    #expect(main.pointee.executor.handle == engine.pointee.mainExecutorHandle.bits)
    #expect((main.pointee.is_main, main.pointee.places, main.pointee.drainers) == (1, 1, 0))
  }

  @Test func `an executor that is drained lies as it is read`() {
    let executor = HostExecutor(label: "a label", places: 2)
    let before = read(executor, as: inturn_layout_host.self)
    #expect((before.is_main, before.places, before.drainers) == (0, 2, 0))
    #expect((before.thread, label(at: before.executor.label)) == (0, "a label"))
    #expect(executor.attach(loop: "a loop", data: nil) == .ok)
    #expect(executor.beginDrain() == .ok)
    let drained = read(executor, as: inturn_layout_host.self)
    #expect((drained.thread, drained.drainers) == (UInt64(inturn_system_thread()), 1))
    executor.endDrain()
    #expect(executor.detach(loop: "a loop") == .ok)
  }

  private func label(at address: UInt64) -> String {
    String(cString: UnsafePointer<CChar>(bitPattern: UInt(address) + 32)!)
  }
}
