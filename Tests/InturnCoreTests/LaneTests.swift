import Synchronization
import TestSupport
import Testing

@testable import InturnCore

/// What of a lane cannot be seen through the C library.
@Suite struct LaneTests {
  /// A queue on an executor that the test drains.
  private struct Stage: ~Copyable {
    let executor = Engine.createHostExecutor(label: nil, waker: nil)
    let queue: Handle

    init(_ kind: QueueKind) {
      queue =
        Engine.createQueue(
          QueueOptions(kind: kind), executor: executor, clock: Handle(bits: 0)
        ).1
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

  @Test func `a gate whose generations are used up is retired in the middle of a queue`() {
    let stage = Stage(.fifo)
    var ran = 0
    withUnsafeMutablePointer(to: &ran) { ran in
      // The first free slot is the next gate: only a few generations are left to it.
      let slot = OperationSlot.Pointer.take(for: stage.lane, stage.queue.generation, [])!
      let index = slot.pointee.index
      slot.pointee.word.store(
        OperationWord(generation: Handle.maximumGeneration - 4).bits, ordering: .relaxed)
      slot.dropReference()
      for _ in 0..<100 {
        #expect(
          Engine.enqueue(stage.queue, work: Self.finish, context: ran, destroy: nil) == .ok)
      }
      stage.drain()
      #expect(ran.pointee == 100)
      let word = Engine.current.pointee.operations.pointer(at: index)!.loadWord()
      // Unless another test took the slot first; then it is as it was.
      if word.generation > Handle.maximumGeneration - 5 {
        #expect(word.generation >= Handle.maximumGeneration - 4)
      }
    }
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
