// Many producers, one writer: a queue in front of SQLite.
//
//     swift run --package-path examples/swift database_writer [FILE]
//
// What to look at: the connection has no lock of its own, as the queue never runs two writes at
// once. The queue has a capacity: a producer that is faster than the database waits until there is
// room, without blocking a thread, so that memory does not fill up with rows.

import AsyncQueue
import Synchronization

final class Writer: Sendable {
  static let capacity = 64

  let database: Database
  private let queue = FIFOQueue(label: "writer", capacity: Writer.capacity)
  private let mostPending = Atomic(0)
  private let waits = Atomic(0)

  init(_ database: Database) { self.database = database }

  func add(_ producer: Int, _ number: Int) async throws {
    let write: @Sendable () async -> Void = { [self] in
      mostPending.max(queue.statistics.pending, ordering: .relaxed)
      do {
        try database.insert(producer, number)
      } catch {
        fatalError("\(error)")
      }
    }
    do {
      try queue.tryEnqueue(write)
    } catch .full {
      waits.add(1, ordering: .relaxed)
      try await queue.enqueueWhenRoom(write)
    }
  }

  func report() async throws {
    try await queue.drain()
    try database.run("COMMIT")
    let count = try database.number("SELECT count(*) FROM log")
    let outOfOrder = try database.number(
      """
      SELECT count(*) FROM (
        SELECT number - lag(number, 1, -1) OVER (PARTITION BY producer ORDER BY rowid) AS step
        FROM log)
      WHERE step <> 1
      """)
    let hadToWait = waits.load(ordering: .relaxed) > 0
    let wasKept = mostPending.load(ordering: .relaxed) <= Writer.capacity
    print("\(count) rows written")
    print("\(outOfOrder) out of their producer's order")
    print("producers had to wait: \(hadToWait ? "yes" : "no")")
    print("rows in memory never exceeded the capacity: \(wasKept ? "yes" : "no")")
  }
}

let writer = Writer(try Database(CommandLine.arguments.dropFirst().first ?? ""))
try await withThrowingTaskGroup { group in
  for producer in 0..<8 {
    group.addTask { [writer] in
      for number in 0..<1_000 { try await writer.add(producer, number) }
    }
  }
  try await group.waitForAll()
}
try await writer.report()
