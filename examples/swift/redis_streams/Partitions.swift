import Foundation
import Synchronization

/// One of the streams over which messages are distributed by their key.
final class Partition: @unchecked Sendable {
  // Safe to share: what is not atomic is only used by the one thread that reads.

  let stream: String
  let lease: String
  /// False if another consumer holds it, or if it has to be given back.
  fileprivate var isRead = false
  /// The id to read after; ">" for what nobody has read.
  fileprivate var next = ">"
  fileprivate let inFlight = Atomic(0)

  fileprivate init(_ number: Int) { (stream, lease) = ("orders:\(number)", "lease:\(number)") }

  /// Records that a message has been acknowledged. Any thread may call it.
  func didAcknowledge() { inFlight.subtract(1, ordering: .sequentiallyConsistent) }
}

struct Message: Sendable {
  let partition: Partition
  let id: String
  let key: String
  let number: String
  /// How long handling takes.
  let duration: Duration
}

/// The streams, shared with other consumers.
///
/// A partition belongs to one consumer at a time: the one that holds its lease, see
/// `examples/redis_streams.lua`. All consumers have the same name in the streams' group, so whoever
/// takes over a partition first reads what the previous one has read but not acknowledged. So each
/// key's messages come in order, whoever reads them.
struct Partitions {
  static let group = "workers"
  private static let atOnce = 32
  /// How long the others have to wait for a dead consumer's partitions.
  private static let leaseMilliseconds = 3_000

  private let name: String
  private let redis: Redis
  private let all = (0..<6).map { Partition($0) }
  private var leases: [String] { ["consumers"] + all.map(\.lease) }

  init(port: Int32, name: String) throws {
    self.name = name
    redis = try Redis(port: port)
  }

  /// Renews the leases, takes or gives back partitions, and reads what there is, or waits a moment.
  func read(_ receive: (Message) -> Void) throws {
    try hold()
    let chosen = all.filter { $0.isRead && inFlight($0) < Self.atOnce }
    let streams = try call(
      "inturn_read", chosen.map(\.lease) + chosen.map(\.stream), [Self.group] + chosen.map(\.next))
    if streams.isEmpty { Thread.sleep(forTimeInterval: 0.01) }
    for stream in streams {
      let partition = chosen.first { $0.stream == stream.list[0].text }!
      let entries = stream.list[1].list.map(\.list)
      if partition.next != ">" { partition.next = entries.last?[0].text ?? ">" }
      for entry in entries {
        partition.inFlight.add(1, ordering: .sequentiallyConsistent)
        receive(message(entry[0].text, entry[1].list.map(\.text), partition))
      }
    }
  }

  /// Gives the leases back. Everything must be acknowledged.
  func leave() throws { try call("inturn_leave", leases, []) }

  private func hold() throws {
    let idle = all.indices.filter { inFlight(all[$0]) == 0 }
    let reply = try call(
      "inturn_hold", leases, ([Self.leaseMilliseconds] + idle).map(String.init))
    let share = reply[0].integer!
    let kept = reply[1].list.compactMap(\.integer)
    let taken = reply[2].list.compactMap(\.integer)
    for (number, partition) in all.enumerated() {
      if !idle.contains(number) && !kept.contains(number) {
        // Another consumer may have read it already: going on would do harm.
        throw Redis.Failure(message: "\(name) has lost a lease.")
      }
      if taken.contains(number) { partition.next = "0" }  // first what another left
      partition.isRead = taken.contains(number) || kept.prefix(share).contains(number)
    }
  }

  @discardableResult
  private func call(
    _ function: String, _ keys: [String], _ words: [String]
  ) throws -> [Redis.Reply] {
    try redis.call(["FCALL", function, "\(keys.count)"] + keys + [name] + words).list
  }

  private func inFlight(_ partition: Partition) -> Int {
    partition.inFlight.load(ordering: .sequentiallyConsistent)
  }

  private func message(_ id: String, _ fields: [String], _ partition: Partition) -> Message {
    func field(_ name: String) -> String { fields[fields.firstIndex(of: name)! + 1] }
    return Message(
      partition: partition, id: id, key: field("key"), number: field("number"),
      duration: .milliseconds(Int(field("milliseconds"))!))
  }
}
