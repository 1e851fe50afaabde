// Many producers, one writer: a queue in front of SQLite.
//
//     swift run --package-path examples/swift database_writer [FILE]
//
// What to look at: the connection has no lock of its own, as the queue never runs two writes at
// once. The queue has a capacity: a producer that is faster than the database waits until there is
// room, without blocking a thread, so that memory does not fill up with rows.

import AsyncQueue
import Synchronization

enum Seen {
  static let mostPending = Atomic(0), waits = Atomic(0)
}

func write(to file: String) async throws {
  let database = try Database(file)
  let writer = FIFOQueue(label: "writer", capacity: 64)

  @Sendable func produce(_ producer: Int) async throws {
    for number in 0..<1_000 {
      let insertion: @Sendable () async -> Void = {
        Seen.mostPending.max(writer.statistics.pending, ordering: .relaxed)
        try! database.insert(producer, number)
      }
      do {
        try writer.tryEnqueue(insertion)
      } catch QueueError.full {
        Seen.waits.add(1, ordering: .relaxed)
        try await writer.enqueueWhenRoom(insertion)
      }
    }
  }
  try await withThrowingTaskGroup { producers in
    for producer in 0..<8 { producers.addTask { try await produce(producer) } }
    try await producers.waitForAll()
  }
  try await writer.drain()
  try database.run("COMMIT")

  let outOfOrder = try database.number(
    """
    SELECT count(*) FROM (
      SELECT number - lag(number, 1, -1) OVER (PARTITION BY producer ORDER BY rowid) AS step
      FROM log)
    WHERE step <> 1
    """)
  let hadToWait = Seen.waits.load(ordering: .relaxed) > 0
  let wasKept = Seen.mostPending.load(ordering: .relaxed) <= 64
  print("\(try database.number("SELECT count(*) FROM log")) rows written")
  print("\(outOfOrder) out of their producer's order")
  print("producers had to wait: \(hadToWait ? "yes" : "no")")
  print("rows in memory never exceeded the capacity: \(wasKept ? "yes" : "no")")
}

try await write(to: CommandLine.arguments.dropFirst().first ?? "")
