import AsyncQueue
import InturnCore
import TestSupport
import Testing

/// The recorder, and what is written.
@Suite(.watched) struct RecorderTests {
  @Test func `a report has the last steps, and all of them are written`() async throws {
    Reports.begin()
    Report.setStallLimit(.milliseconds(50))
    #expect(Report.startTrace())
    let queue = FIFOQueue(name: "recorded")
    let end = Signal()
    queue.enqueue { _ = await end.wait() }
    let behind = Task(on: queue) {}
    let told = await Reports.told("queue \"recorded\"")
    let lines = told.first?.steps?.split(separator: "\n") ?? []
    #expect(lines.count { $0.contains("enqueued") } == 2)
    #expect(lines.count { $0.contains("before: started") } == 1)
    #expect(lines.allSatisfy { $0.contains(", queue \"recorded\", thread ") })
    #expect(try written { Report.dumpAll(to: $0) }.contains("queue \"recorded\" fifo"))
    end.raise()
    await behind.value
    Report.stopTrace()
    #expect(try written { Report.writeTrace(to: $0) }.contains("\"name\":\"enqueue recorded\""))
    Report.setStallLimit(.zero)
  }

  @Test func `a report has its chain, and all is written in each format`() async throws {
    Reports.begin()
    Report.setStallLimit(.milliseconds(50))
    let network = FIFOQueue(name: "network of chains")
    let database = FIFOQueue(name: "database of chains")
    let end = Signal()
    let line = #line + 1
    let load = network.enqueueTask(.with { $0.label = "load" }) { _ = await end.wait() }
    let save = database.enqueueTask(
      .with {
        $0.label = "save"
        $0.after = [load]
      }
    ) {}
    let waits = Task { try? await save.value }
    let report = try #require(await Reports.told("\"save, ").first)
    let chain = report.chain
    let places = [line + 1, line].map { "AsyncQueueTests/RecorderTests.swift:\($0)" }
    #expect(chain.map(\.operationLabel) == ["save, \(places[0])", "load, \(places[1])"])
    #expect(chain.map(\.queueLabel) == ["database of chains", "network of chains"])
    #expect(chain.map(\.cause) == ["after", "task"])
    #expect(chain.map(\.line) == [line + 1, line])
    #expect(chain.allSatisfy { $0.fileID == "AsyncQueueTests/RecorderTests.swift" })
    #expect(chain.allSatisfy { $0.chain.isEmpty && $0.kind == .stall })
    #expect(chain[0].message.hasSuffix(" of queue \"database of chains\""))
    #expect(chain[1].message.hasSuffix(", its task has not ended"))
    #expect((report.cause, report.operationLabel) == ("task", chain[1].operationLabel))
    #expect(try written(Report.dumpJSON).hasPrefix("{\"now_ns\":"))
    #expect(try written(Report.dumpDOT).hasPrefix("digraph inturn {"))
    #expect(try written(Report.dumpHTML).hasPrefix("<!DOCTYPE html>"))
    end.raise()
    _ = await waits.value
    Report.setStallLimit(.zero)
  }

  @Test func `what cannot be is refused`() {
    #expect(!Report.startTrace(bytes: -1))
    #expect(!Report.startTrace(bytes: 1 << 41))
    #expect(!Report.writeTrace(to: -1))
    #expect(!Report.dumpAll(to: -1))
  }
}
