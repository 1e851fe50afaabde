import AsyncQueue
import InturnCore
import TestSupport
import Testing

/// The lines that reports name.
@Suite(.watched, .serialized) struct SiteTests {
  private let queue = FIFOQueue(name: "stuck")
  private let end = Signal()

  init() {
    Reports.begin()
    Engine.setStallLimit(nanoseconds: 50_000_000)
  }

  /// Something is stuck; what is reported of that names this line, as values, too.
  private func isNamed(line: Int) async {
    let behind = Task(on: queue) {}
    let told = await Reports.told("SiteTests.swift:\(line)")
    #expect(told.first?.kind == .stall)
    #expect(told.first?.fileID == "AsyncQueueTests/SiteTests.swift")
    #expect(told.first?.line == line)
    end.raise()
    await behind.value
    Engine.setStallLimit(nanoseconds: 0)
  }

  @Test func `the line of a task is named`() async {
    let line = #line + 1
    let task = Task(on: queue) { _ = await end.wait() }
    await isNamed(line: line)
    await task.value
  }

  @Test func `the line of a task that may throw is named`() async throws {
    let line = #line + 1
    let task = Task(on: queue) { () async throws in _ = await end.wait() }
    await isNamed(line: line)
    try await task.value
  }

  @Test func `the line of an operation is named, and once`() async {
    let line = #line + 1
    let operation = queue.enqueueTask(.with { $0.label = "labelled" }) { _ = await end.wait() }
    await isNamed(line: line)
    let message = Reports.about("SiteTests.swift:\(line)").first?.message
    #expect(message?.contains("\"labelled, AsyncQueueTests/SiteTests.swift:\(line)\" of") == true)
    _ = await operation.waitForEnd()
  }
}
