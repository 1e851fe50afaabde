import AsyncOperation
import AsyncQueue
import TestSupport
import Testing

/// Waits that go through queues of two modules.
@Suite(.watched) struct ModuleRingTests {
  /// Whether a body throws that it would wait for ever. Of the waits in a ring, the last to begin is
  /// refused, which need not be the innermost one: an operation may begin before its caller waits.
  private static func isRefused(_ body: () async throws -> Void) async -> Bool {
    do {
      try await body()
    } catch QueueError.deadlock {
      return true
    } catch {
      Issue.record("it throws \(error)")
    }
    return false
  }

  @Test func `a ring through another module's queue is refused, in each form`() async throws {
    let ordered = FIFOQueue(label: "ordered")
    let concurrent = ConcurrentQueue(label: "concurrent")
    func isRefused(_ wait: @escaping @Sendable () async throws -> Void) async -> Bool {
      await Self.isRefused {
        try await ordered.run { try await concurrent.run { try await wait() } }
      }
    }
    #expect(await isRefused { try await ordered.run { () async throws in } })
    #expect(await isRefused { try await ordered.drain() })
    #expect(
      await isRefused {
        async let child: Void = ordered.run { () async throws in }
        try await child
      })
    #expect(
      await isRefused {
        let behind = Task(on: ordered) { () async throws in }
        try await behind.value
      })
    try await ordered.drain()
    try await concurrent.drain()
  }

  @Test func `a refused ring is reported, and names the queues of both modules`() async {
    Reports.begin()
    let ordered = FIFOQueue(label: "the ring's ordered one")
    let concurrent = ConcurrentQueue(label: "the ring's concurrent one")
    let isRefused = await Self.isRefused {
      try await ordered.run {
        try await concurrent.run { try await ordered.run { () async throws in } }
      }
    }
    #expect(isRefused)
    let reports = await Reports.told("the ring's ordered one")
    #expect(reports.map(\.kind) == [.deadlock])
    #expect(reports[0].message.contains("the ring's concurrent one"))
  }

  /// Whether a wait is refused inside an operation that has the name, whose handle it gets.
  private static func isRefusedByHolder(
    _ wait: @escaping @Sendable (_ holder: QueuedOperation) async throws -> Void
  ) async throws -> Bool {
    let holders = ConcurrentQueue(label: "holders")
    let own = Protected<QueuedOperation?>(nil)
    let isRefused = Protected(false)
    holders.suspend()
    let holder = holders.enqueueTask(.with { $0.exclusive = ["name"] }) {
      let holder = own.withLock { $0! }
      let refused = await Self.isRefused { try await wait(holder) }
      isRefused.withLock { $0 = refused }
    }
    own.withLock { $0 = holder }
    holders.resume()
    try await holder.value
    own.withLock { $0 = nil }
    return isRefused.withLock { $0 }
  }

  private static var needingTheName: OperationOptions { .with { $0.exclusive = ["name"] } }

  @Test func `a turn that needs what its caller holds is refused`() async throws {
    let queue = FIFOQueue(label: "ordered")
    let byName = try await Self.isRefusedByHolder { _ in
      try await queue.run(Self.needingTheName) { () async throws in }
    }
    #expect(byName)
    let byOrder = try await Self.isRefusedByHolder { holder in
      try await queue.run(.with { $0.after = [holder] }) { () async throws in }
    }
    #expect(byOrder)
    #expect(queue.statistics.cancelled == 2)
    try await queue.drain()
  }

  @Test func `a turn behind what needs what its caller holds is refused`() async throws {
    let queue = FIFOQueue(label: "ordered")
    let byName = try await Self.isRefusedByHolder { _ in
      queue.enqueueTask(Self.needingTheName) {}
      try await queue.run { () async throws in }
    }
    #expect(byName)
    let byOrder = try await Self.isRefusedByHolder { holder in
      queue.enqueueTask(.with { $0.after = [holder] }) {}
      try await Task(on: queue) { () async throws in }.value
    }
    #expect(byOrder)
    try await queue.drain()
  }

  @Test func `a turn is not refused for what comes behind it`() async throws {
    let queue = FIFOQueue(label: "ordered")
    let gate = Gate()
    queue.enqueue { await gate.wait(for: "the turn") }
    let isRefused = try await Self.isRefusedByHolder { _ in
      async let turn: Void = queue.run { () async throws in }
      while queue.statistics.pending == 0 { await Task.yield() }
      queue.enqueueTask(Self.needingTheName) {}
      gate.open()
      try await turn
    }
    #expect(!isRefused)
    try await queue.drain()
  }

  @Test func `who waits in an operation for room in its own queue is refused`() async throws {
    let queue = FIFOQueue(label: "full", capacity: 1)
    await queue.run {
      queue.enqueue {}
      let isRefused = await Self.isRefused { try await queue.enqueueWhenRoom {} }
      #expect(isRefused)
    }
    try await queue.drain()
  }

  @Test func `a wait is inside the operations of both modules that contain it`() async throws {
    let (ordered, other) = (FIFOQueue(label: "ordered"), FIFOQueue(label: "other ordered"))
    let concurrent = ConcurrentQueue(label: "concurrent", maxConcurrent: 1)
    let otherConcurrent = ConcurrentQueue(label: "other concurrent")
    // The innermost operation is a FIFO queue's, in the task of a concurrent queue's.
    #expect(
      await Self.isRefused {
        try await concurrent.run { try await ordered.run { try await concurrent.run {} } }
      })
    #expect(
      await Self.isRefused {
        try await ordered.run {
          try await concurrent.run {
            try await other.run { try await ordered.run { () async throws in } }
          }
        }
      })
    // The innermost operation is a concurrent queue's, in a task of its own.
    for wait: @Sendable () async throws -> Void in [
      { try await ordered.run { () async throws in } }, { try await concurrent.run {} },
    ] {
      #expect(
        await Self.isRefused {
          try await concurrent.run {
            try await ordered.run { try await otherConcurrent.run { try await wait() } }
          }
        })
    }
    for queue: any WorkQueue in [ordered, other, concurrent, otherConcurrent] {
      try await queue.drain()
    }
  }

  @Test func `waits through two modules' queues that can end are not refused`() async throws {
    let (ordered, other) = (FIFOQueue(), FIFOQueue())
    let concurrent = ConcurrentQueue(maxConcurrent: 2)
    let value = try await ordered.run {
      try await concurrent.run {
        try await other.run { try await concurrent.run { 1 } }
      }
    }
    #expect(value == 1)
    // A task that an operation only creates is not inside it.
    let task = try await concurrent.run {
      Task { try await ordered.run { () async throws in try await concurrent.drain() } }
    }
    #expect(try await task.value == [])
  }
}
