// Past one machine: consumers of Redis Streams share the load, keep the order of each key, and lose
// nothing when one of them dies.
//
//     swift run --package-path examples/swift redis_streams PORT NAME
//
// (Until it is terminated: kill, Ctrl-C.) What to look at: the messages with the same key go through
// that key's queue, so that they are handled one after another, and those with other keys at the same
// time. A message is acknowledged when it has been handled, not before: what a dead consumer has not
// finished is handled again by another. Partitions.swift explains how consumers share the streams.

import AsyncQueue
import Foundation
import Synchronization

/// Uses a connection that only the operations of one queue use.
final class Recorder: @unchecked Sendable {
  // Safe to share: `queue` protects the rest.

  let queue = FIFOQueue(label: "redis")
  private let name: String
  private let connection: Redis
  private(set) var acknowledged = 0

  init(port: Int32, name: String) throws {
    self.name = name
    connection = try Redis(port: port)
  }

  /// What handling a message finally does: here, add a line to a list. Returns when it is there.
  func record(_ message: Message) async throws {
    let words = [message.partition.stream, message.id, message.key, message.number, name]
    try await queue.run {
      _ = try connection.call(["RPUSH", "handled", words.joined(separator: "/")])
    }
  }

  func acknowledge(_ message: Message) async throws {
    try await queue.run {
      _ = try connection.call(["XACK", message.partition.stream, Partitions.group, message.id])
      message.partition.didAcknowledge()
      acknowledged += 1
    }
  }
}

@main
enum Main {
  static let isTerminated = Atomic(false)

  static func main() async {
    let words = CommandLine.arguments
    guard words.count == 3, let port = Int32(words[1]) else {
      stop(Redis.Failure(message: "usage: redis_streams PORT NAME"))
    }
    do {
      try await run(port: port, name: words[2])
    } catch {
      stop(error)
    }
  }

  /// Another consumer handles what is not acknowledged.
  static func stop(_ error: any Error) -> Never {
    FileHandle.standardError.write(Data("\(error)\n".utf8))
    exit(EXIT_FAILURE)
  }

  static func run(port: Int32, name: String) async throws {
    isTerminated.store(false, ordering: .relaxed)  // created before a signal can come
    for number in [SIGTERM, SIGINT] {
      signal(number) { _ in Main.isTerminated.store(true, ordering: .relaxed) }
    }
    let recorder = try Recorder(port: port, name: name)
    let partitions = try Partitions(port: port, name: name)
    var keys: [String: FIFOQueue] = [:]

    while !isTerminated.load(ordering: .relaxed) {
      try partitions.read { message in
        let queue = keys[message.key] ?? FIFOQueue(label: message.key)
        keys[message.key] = queue
        queue.enqueue { await handle(message, recorder) }
      }
    }
    for queue in keys.values { try await queue.drain() }
    try await recorder.queue.drain()
    try partitions.leave()
    print("\(recorder.acknowledged) messages acknowledged, of \(keys.count) keys")
  }

  /// Takes a while, and is over when the list has the line and the server the acknowledgement.
  static func handle(_ message: Message, _ recorder: Recorder) async {
    do {
      try await Task.sleep(for: message.duration)
      try await recorder.record(message)
      try await recorder.acknowledge(message)
    } catch {
      stop(error)
    }
  }
}
