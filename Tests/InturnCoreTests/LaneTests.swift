import Synchronization
import TestSupport
import Testing

@testable import InturnCore

/// Aspects of a lane that the C library does not show.
@Suite struct LaneTests {
  /// A queue on an executor that the test drains.
  private struct Stage: ~Copyable {
    let executor = Engine.createHostExecutor(label: nil, waker: nil)!
    let queue: Handle

    init(_ kind: QueueKind) {
      var options = QueueOptions(kind: kind)
      (options.settle, options.gap) = (0, 0)
      queue = Engine.createQueue(options, executor: executor, clock: Handle(bits: 0)).1
    }

    deinit {
      #expect(Engine.destroy(queue: queue) == .ok)
      #expect(Engine.destroy(executor: executor) == .ok)
    }

    @discardableResult
    func drain(calls: Int = .max) -> Int {
      let (status, host) = Engine.hostExecutor(executor)
      #expect(status == .ok)
      return host!.drain(maximumCalls: calls).calls
    }

    var lane: Lane.Pointer { Engine.current.pointee.lanes.pointer(at: queue.index)! }
  }

  private static let finish: RawWork = { context, token in
    context?.assumingMemoryBound(to: Int.self).pointee += 1
    _ = Engine.end(Handle(bits: token), as: .finished)
  }

  private static let hold: RawWork = { context, token in
    context?.assumingMemoryBound(to: UInt64.self).pointee = token
  }

  @Test func `a lane is one cache line and a slot two`() {
    #expect(MemoryLayout<Lane>.size == 64)
    #expect(MemoryLayout<OperationSlot>.size == 128)
    #expect(MemoryLayout<Job>.size == 24)
  }

  /// Lets the next slot begin with this generation, unless another test takes it first.
  private func wearNextSlot(_ stage: borrowing Stage, _ generation: UInt32) -> UInt32 {
    let slot = OperationSlot.Pointer.take(for: stage.lane, stage.queue.generation, [])!
    slot.pointee.word.store(OperationWord(generation: generation - 1).bits, ordering: .relaxed)
    let index = slot.pointee.index
    slot.dropReference()
    return index
  }

  @Test func `a gate whose generations are used up is retired in the middle of a queue`() {
    let stage = Stage(.fifo)
    var ran = 0
    withUnsafeMutablePointer(to: &ran) { ran in
      // The first free slot is the next gate, which has only a few generations left.
      let index = wearNextSlot(stage, OperationSlot.lastGeneration - 3)
      for _ in 0..<100 {
        #expect(
          Engine.enqueue(stage.queue, work: Self.finish, context: ran, destroy: nil) == .ok)
      }
      stage.drain()
      #expect(ran.pointee == 100)
      let word = Engine.current.pointee.operations.pointer(at: index)!.loadWord()
      // If another test took the slot first, it is unchanged.
      if word.generation >= OperationSlot.lastGeneration - 3 {
        #expect(word.generation >= OperationSlot.lastGeneration)
      }
    }
  }

  private static let giveWay: RawWork = { context, token in
    let left = context!.assumingMemoryBound(to: Int.self)
    left.pointee -= 1
    let token = Handle(bits: token)
    _ = left.pointee > 0 ? Engine.yield(token) : Engine.end(token, as: .finished)
  }

  private static let fail: RawWork = { context, token in
    context!.assumingMemoryBound(to: Int.self).pointee -= 1
    _ = Engine.fail(Handle(bits: token), code: 1)
  }

  @Test(arguments: [true, false])
  func `a slot that has seen much leaves as many attempts as any`(yields: Bool) {
    let stage = Stage(yields ? .interaction : .fifo)
    if yields {
      #expect(Engine.setVisible(stage.queue, true) == .ok)
    }
    var left = 10
    withUnsafeMutablePointer(to: &left) { left in
      _ = wearNextSlot(stage, OperationSlot.lastGeneration)
      var options = OperationOptions()
      if !yields {
        options.retry = RetryPolicy()
        options.retry!.maximumAttempts = 10
      }
      let (status, operation) = Engine.enqueue(
        stage.queue, options: options, work: yields ? Self.giveWay : Self.fail, context: left,
        destroy: nil, wantsHandle: true)
      #expect(status == .ok)
      for _ in 0..<10 { stage.drain() }
      let end = Engine.wait(for: operation, timeoutNanoseconds: 0).1
      #expect(end?.outcome == (yields ? .finished : .failed))
      #expect(end?.attempts == 10)
      #expect(left.pointee == 0)
      #expect(Engine.release(operation) == .ok)
    }
  }

  /// Enqueues operations that keep their tokens; returns their handles.
  private func hold(
    _ tokens: UnsafeMutableBufferPointer<UInt64>, _ stage: borrowing Stage
  ) -> [Handle] {
    var options = LeanOptions()
    options.priority = 1
    return tokens.indices.map { place in
      let (status, name) = Engine.enqueue(
        stage.queue, lean: options, work: Self.hold, context: tokens.baseAddress! + place,
        destroy: nil, wantsHandle: true)
      #expect(status == .ok)
      return name
    }
  }

  private func end(_ tokens: UnsafeMutableBufferPointer<UInt64>, _ stage: borrowing Stage) {
    for place in tokens.indices {
      stage.drain()
      #expect(Engine.end(Handle(bits: tokens[place]), as: .finished) == .ok)
    }
    stage.drain()
  }

  /// How many places of its queue have to be taken for a pending operation not to start.
  private func placesNeeded(by operation: Handle) -> UInt64? {
    guard let slot = OperationSlot.Pointer.find(operation: operation).1 else { return nil }
    var (earlier, strays): ([OperationSlot.Pointer], [OperationSlot.Pointer]) = ([], [])
    let need = slot.lane.whatKeepsBack(slot, &earlier, strays: &strays, reach: 16)
    for slot in [slot] + earlier + strays { slot.dropReference() }
    guard case .turn(let places, _, _) = need else { return nil }
    return places
  }

  @Test func `one that a barrier has let go waits for one place of all`() {
    let stage = Stage(.concurrent)
    #expect(Engine.setLimit(2, of: stage.queue) == .ok)
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 3) { tokens in
      var options = OperationOptions()
      options.isBarrier = true
      var ran = 0
      withUnsafeMutablePointer(to: &ran) { ran in
        let (status, _) = Engine.enqueue(
          stage.queue, options: options, work: Self.finish, context: ran, destroy: nil,
          wantsHandle: false)
        #expect(status == .ok)
        let names = hold(tokens, stage)
        #expect(placesNeeded(by: names[2]) == 1)
        stage.drain()
        #expect(ran.pointee == 1)
        #expect(placesNeeded(by: names[2]) == 2)
        end(tokens, stage)
        for name in names { #expect(Engine.release(name) == .ok) }
      }
    }
  }

  @Test func `an operation begins without the progress of the one before`() {
    let stage = Stage(.concurrent)
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 1) { tokens in
      for _ in 0..<3 {
        let names = hold(tokens, stage)
        stage.drain()
        #expect(Engine.progress(of: names[0]).1 == Progress())
        let progress = Progress(completed: 1, total: 2)
        #expect(Engine.setProgress(progress, of: Handle(bits: tokens[0])) == .ok)
        #expect(Engine.progress(of: names[0]).1 == progress)
        end(tokens, stage)
        #expect(Engine.release(names[0]) == .ok)
      }
    }
  }

  /// What is armed or under way when a queue is destroyed.
  enum Armed: CaseIterable {
    case shown, settling, maxWait, maxRun, grace, stall, retry
  }

  @Test(arguments: Armed.allCases)
  func `a queue that is destroyed leaves no timer in its clock`(_ armed: Armed) {
    let executor = Engine.createHostExecutor(label: nil, waker: nil)!
    let host = Engine.hostExecutor(executor).1!
    let clock = Engine.createManualClock()!
    let handle = clock.handle
    let isInteraction = armed == .shown || armed == .settling
    var options = QueueOptions(kind: isInteraction ? .interaction : .fifo)
    options.settle = armed == .settling ? 100 : 0
    options.gap = 100
    let queue = Engine.createQueue(options, executor: executor, clock: handle).1
    if isInteraction { #expect(Engine.setVisible(queue, true) == .ok) }
    var operation = OperationOptions()
    switch armed {
    case .shown, .settling: break
    case .maxWait: operation.maxWait = 100
    case .maxRun: operation.maxRun = 100
    case .grace: operation.grace = 100
    case .stall: operation.stall = 100
    case .retry:
      operation.retry = RetryPolicy()
      operation.retry!.delay = 100
    }
    var token: UInt64 = 0
    withUnsafeMutablePointer(to: &token) { token in
      let (status, name) = Engine.enqueue(
        queue, options: operation, work: Self.hold, context: token, destroy: nil, wantsHandle: true)
      #expect(status == .ok)
      if armed != .maxWait { _ = host.drain(maximumCalls: .max) }
      if armed == .grace { #expect(Engine.cancel(name) == .ok) }
      if armed == .retry {
        #expect(Engine.fail(Handle(bits: token.pointee), code: 1) == .ok)
        _ = host.drain(maximumCalls: .max)
      }
      #expect(clock.armed == (armed == .shown ? 0 : 1))
      #expect(Engine.destroy(queue: queue) == .ok)
      #expect(clock.armed == 0)
      #expect(Engine.release(name) == .ok)
    }
    #expect(Engine.destroy(clock: handle) == .ok)
    #expect(Engine.destroy(executor: executor) == .ok)
  }

  @Test func `operations that come and are cancelled leave nothing in a queue that stands still`() {
    let stage = Stage(.fifo)
    var token: UInt64 = 0
    withUnsafeMutablePointer(to: &token) { token in
      #expect(Engine.enqueue(stage.queue, work: Self.hold, context: token, destroy: nil) == .ok)
      stage.drain()
      var chunksBefore = 0
      for round in 0..<20_000 {
        let (status, operation) = Engine.enqueue(
          stage.queue, options: nil, work: Self.finish, context: nil, destroy: nil,
          wantsHandle: true)
        #expect(status == .ok)
        #expect(Engine.cancel(operation) == .ok)
        #expect(Engine.release(operation) == .ok)
        if round == 1_000 { chunksBefore = Self.chunkCount(stage.lane) }
      }
      #expect(Self.chunkCount(stage.lane) <= chunksBefore + 1)
      #expect(Engine.end(Handle(bits: token.pointee), as: .finished) == .ok)
      stage.drain()
    }
  }

  private static func chunkCount(_ lane: Lane.Pointer) -> Int {
    var count = 0
    var chunk = lane.pointee.buffer.head
    while let current = chunk {
      count += 1
      chunk = current.pointee.next
    }
    return count
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `what is left after random cancels runs in order`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let stage = Stage(.fifo)
    let order = UnsafeMutablePointer<[Int]>.allocate(capacity: 1)
    order.initialize(to: [])
    defer {
      order.deinitialize(count: 1)
      order.deallocate()
    }
    struct Entry {
      let order: UnsafeMutablePointer<[Int]>
      let number: Int
    }
    let note: RawWork = { context, token in
      let entry = context!.assumingMemoryBound(to: Entry.self)
      entry.pointee.order.pointee.append(entry.pointee.number)
      _ = Engine.end(Handle(bits: token), as: .finished)
    }
    let count = 5_000
    let entries = UnsafeMutablePointer<Entry>.allocate(capacity: count)
    defer { entries.deallocate() }
    var operations: [(number: Int, handle: Handle)] = []
    var expected = Set(0..<count)
    for number in 0..<count {
      (entries + number).initialize(to: Entry(order: order, number: number))
      let (status, operation) = Engine.enqueue(
        stage.queue, options: nil, work: note, context: entries + number, destroy: nil,
        wantsHandle: true)
      #expect(status == .ok)
      operations.append((number, operation))
      if random.next() % 3 != 0, let place = operations.indices.randomElement(using: &random) {
        let victim = operations[place]
        if Engine.cancel(victim.handle) == .ok { expected.remove(victim.number) }
      }
    }
    stage.drain()
    #expect(order.pointee == expected.sorted())
    for operation in operations { #expect(Engine.release(operation.handle) == .ok) }
  }

  @Test func `a drain that is used up goes on where it was`() {
    let stage = Stage(.fifo)
    var ran = 0
    withUnsafeMutablePointer(to: &ran) { ran in
      for _ in 0..<1_000 {
        _ = Engine.enqueue(stage.queue, work: Self.finish, context: ran, destroy: nil)
      }
      for calls in 1...40 { #expect(stage.drain(calls: calls) == calls) }
      #expect(ran.pointee == 820)
      #expect(stage.drain() == 180)
    }
  }
}
