import TestSupport
import Testing

import enum InturnCore.Engine
import struct InturnCore.QueueOptions

@testable import AsyncOperation

/// What there is, as values.
@Suite(.watched) struct EntryTests {
  /// The entries of the queue with this label, its own first.
  private func entries(of label: String) throws -> [Report.Entry] {
    let all = Report.snapshot()
    let queue = try #require(all.first { $0.kind == "queue" && $0.label == label })
    return [queue] + all.filter { $0.queue == queue.id && $0.kind != "wait" }
  }

  /// The entries of all batches.
  private var batches: [Report.Entry] { Report.snapshot().filter { $0.kind == "batch" } }

  @Test func `a snapshot has a queue, its operations, and what they wait for`() async throws {
    let clock = ManualClock()
    clock.advance(by: .seconds(2))
    let queue = ConcurrentQueue(label: "of entries", maxConcurrent: 2, clock: clock)
    let owner = Owner()
    let name = "of entries: printer"
    let (held, line) = (Held(), #line + 1)
    held.operation = queue.enqueue(.with { ($0.label, $0.exclusive) = ("held", [name]) }) {
      held.started($0)
    }
    #expect(await held.hasStarted())
    clock.advance(by: .seconds(1))
    queue.enqueue(
      .with {
        ($0.label, $0.exclusive, $0.after) = ("next", [name], [held.operation])
        ($0.priority, $0.owner) = (7, owner)
      }
    ) { $0.finish() }
    queue.suspend()
    let told = try entries(of: "of entries")
    try #require(
      told.map(\.kind) == ["queue", "operation", "name", "operation", "after", "name"])
    #expect(told[0].queueKind == "concurrent" && told[0].cause == "suspended")
    #expect((told[0].pending, told[0].running, told[0].suspends) == (1, 1, 1))
    #expect(told[0].state == nil && told[0].fileID == nil && told[0].queue == nil)
    #expect(told[1].state == .running && told[1].token != nil && told[1].attempts == 1)
    #expect(told[1].label?.hasPrefix("held, ") == true)
    #expect(told[1].fileID == "AsyncOperationTests/EntryTests.swift" && told[1].line == line)
    #expect((told[1].enqueued, told[1].started) == (.seconds(2), .seconds(2)))
    #expect(told[2].label == name && told[2].state == .running && told[2].operation == told[1].id)
    #expect(told[3].state == .pending && told[3].cause == "after" && told[3].priority == 7)
    #expect((told[3].enqueued, told[3].started) == (.seconds(3), nil))
    #expect(told[4].operation == told[3].id && told[4].other == told[1].id)
    #expect(told[4].line == told[3].line && told[2].line == line)
    let all = Report.snapshot()
    let ofClock = try #require(all.first { $0.kind == "clock" && $0.id == told[0].clock })
    #expect(ofClock.at == .seconds(3) && ofClock.flags == ["manual"])
    let pool = try #require(all.first { $0.kind == "executor" && $0.id == told[0].executor })
    #expect(pool.flags == ["pool"] && pool.running > 0)
    #expect(all.first { $0.kind == "owner" && $0.id == told[3].owner }?.count == 1)
    queue.resume()
    held.token.finish()
    try await queue.drain()
    #expect(try entries(of: "of entries").map(\.ended) == [2])
    withExtendedLifetime((queue, owner)) {}
  }

  @Test func `an entry reads like its line of a dump`() throws {
    let queue = ConcurrentQueue(label: "of \"lines\"", capacity: 3)
    queue.suspend()
    let first = queue.enqueue(.with { $0.label = "first\nline" }) { $0.finish() }
    queue.enqueue(.with { $0.after = [first] }) { $0.finish() }
    queue.enqueue { $0.finish() }
    queue.close()
    let lines = try written { Report.dumpAll(to: $0) }.split(separator: "\n").map {
      $0.drop { $0 == " " }
    }
    let told = try entries(of: "of \"lines\"")
    #expect(told.count == 5)
    for entry in told { #expect(lines.contains(entry.description[...]), "\(entry)") }
    withExtendedLifetime(queue) {}
  }

  @Test func `a clock is told of until it and its queues are gone`() throws {
    func isThere(_ id: UInt64) -> Bool {
      Report.snapshot().contains { $0.kind == "clock" && $0.id == id }
    }
    var clock: ManualClock? = ManualClock()
    let id = clock!.engineClock.handle.bits
    let (status, queue) = Engine.createQueue(
      QueueOptions(kind: .fifo), executor: Engine.poolExecutor, clock: clock!.engineClock.handle)
    #expect(status == .ok && isThere(id))
    clock = nil
    #expect(isThere(id))
    #expect(Engine.destroy(queue: queue) == .ok)
    #expect(!isThere(id))
    clock = ManualClock()
    let next = clock!.engineClock.handle.bits
    #expect(isThere(next))
    clock = nil
    #expect(!isThere(next))
  }

  @Test func `a batch is told until it is over`() async throws {
    let before = Set(batches.map(\.id))
    func new() -> [Report.Entry] { batches.filter { !before.contains($0.id) } }
    let queue = ConcurrentQueue(label: "of a batch", maxConcurrent: 1)
    let first = queue.enqueue { $0.finish() }
    _ = await first.waitForEnd()
    queue.suspend()
    let others = (0..<2).map { _ in queue.enqueue { $0.finish() } }
    #expect(Batch.all([]).end != nil && Batch.all([first]).end != nil && new().isEmpty)
    let batch = Batch.collect([first] + others)
    let told = try #require(new().first)
    #expect(new().count == 1 && (told.count, told.ended) == (3, 1))
    #expect(try told.queue == entries(of: "of a batch")[0].id)
    let id = "id=0x\(String(told.id!, radix: 16)) "
    let text = try written { Report.dumpAll(to: $0) }
    #expect(text.contains("\n\(told)\n") && "\(told)".contains("batch \(id)"))
    let json = try written { Report.dumpJSON(to: $0) }
    #expect(json.contains("{\"kind\":\"batch\",\"id\":\"\(id.dropFirst(3).dropLast())\","))
    others[0].cancel()
    #expect(await comesTrue { batch.progress.completed == 2 })
    #expect(new().map(\.ended) == [2])
    let other = ConcurrentQueue()
    other.suspend()
    let mixed = Batch.all([others[1], other.enqueue { $0.finish() }])
    let both = new()
    #expect(both.count == 2 && both.contains { $0.queue == nil && $0.count == 2 })
    queue.resume()
    try await batch.waitForEnd()
    #expect(!new().contains { $0.id == told.id } && new().map(\.ended) == [1])
    other.resume()
    try await mixed.waitForEnd()
    #expect(new().isEmpty)
    withExtendedLifetime((queue, other, batch, mixed)) {}
  }

  @Test func `batches come and go beside snapshots`() async throws {
    let idle = ConcurrentQueue()
    idle.suspend()
    let before = Set(batches.map(\.id))
    let lasting = Batch.all([idle.enqueue { $0.finish() }])
    let id = batches.first { !before.contains($0.id) }?.id
    let queues = (0..<4).map { _ in ConcurrentQueue() }
    let ids = await withTaskGroup(of: [UInt64].self) { group in
      for (number, queue) in queues.enumerated() {
        group.addTask {
          for _ in 0..<scaled(200) {
            let batch = Batch.firstError((0..<4).map { _ in queue.enqueue { $0.finish() } })
            if number.isMultiple(of: 2) { batch.cancel() }
            _ = try? await batch.waitForEnd()
          }
          return []
        }
        group.addTask {
          var ids: [UInt64] = []
          for _ in 0..<scaled(100) {
            let told = self.batches.filter { !before.contains($0.id) }
            #expect(told.allSatisfy { $0.id == id || $0.count == 4 && $0.ended <= 4 })
            #expect(Set(told.map(\.id)).count == told.count && told.contains { $0.id == id })
            ids += told.compactMap(\.id)
          }
          return ids
        }
      }
      return await group.reduce(into: Set<UInt64>()) { $0.formUnion($1) }
    }
    #expect(ids.intersection(batches.compactMap(\.id)) == [id])
    idle.resume()
    try await lasting.waitForEnd()
    #expect(Set(batches.map(\.id)).isSubset(of: before))
  }
}
