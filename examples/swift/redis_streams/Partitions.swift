import Foundation
import Synchronization

/// One of the streams over which messages are spread by their key.
final class Partition: @unchecked Sendable {
  // Safe to share: what is not atomic is used by the one thread that reads.

  let stream: String
  let lease: String
  /// Not when it is somebody else's, or to be given back.
  fileprivate var isRead = false
  /// After which id to read on; ">": what nobody has read.
  fileprivate var next = ">"
  fileprivate let inFlight = Atomic(0)

  fileprivate init(_ number: Int) { (stream, lease) = ("orders:\(number)", "lease:\(number)") }

  /// A message has been acknowledged. From any thread.
  func didAcknowledge() { inFlight.subtract(1, ordering: .sequentiallyConsistent) }
}

struct Message: Sendable {
  let partition: Partition
  let id: String
  let key: String
  let number: String
  /// How long it takes to handle.
  let duration: Duration
}

/// The streams, shared with other consumers.
///
/// A partition is one consumer's at a time: the one that has its lease, see
/// `examples/redis_streams.lua`. In the streams' group all consumers have one name, so that who
/// takes a partition over reads first what the one before it has read and not acknowledged. So each
/// key's messages come in order, whoever reads.
struct Partitions {
  static let group = "workers"
  private static let atOnce = 32
  /// How long a consumer that has died keeps the others waiting.
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
        // Another one may have read it already: whoever goes on does harm.
        throw Redis.Failure(message: "\(name) has lost a lease.")
      }
      if taken.contains(number) { partition.next = "0" }  // first what was left by another
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
