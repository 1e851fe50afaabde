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
