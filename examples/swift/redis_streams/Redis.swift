import CHiredis
import Foundation

/// A connection to a Redis server.
final class Redis: @unchecked Sendable {
  // Safe to share: one operation, or one thread, uses it at a time.

  struct Failure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
  }

  enum Reply: Sendable {
    case none
    case integer(Int)
    case text(String)
    case list([Reply])

    var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    var text: String { if case .text(let value) = self { value } else { "" } }
    var list: [Reply] { if case .list(let value) = self { value } else { [] } }
  }

  private let connection: UnsafeMutablePointer<redisContext>

  init(port: Int32) throws {
    guard let connection = redisConnect("127.0.0.1", port) else {
      throw Failure(message: "There is no memory for a connection.")
    }
    self.connection = connection
    if connection.pointee.err != 0 { throw Failure(message: "The server cannot be reached.") }
  }

  deinit { redisFree(connection) }

  @discardableResult
  func call(_ words: [String]) throws -> Reply {
    var copies = words.map { UnsafePointer<CChar>(strdup($0)) }
    defer { for copy in copies { free(UnsafeMutablePointer(mutating: copy)) } }
    guard let result = redisCommandArgv(connection, Int32(words.count), &copies, nil) else {
      throw Failure(message: "The connection is lost.")
    }
    defer { freeReplyObject(result) }
    return try Self.convert(result.assumingMemoryBound(to: redisReply.self).pointee)
  }

  private static func convert(_ reply: redisReply) throws -> Reply {
    switch reply.type {
    case REDIS_REPLY_INTEGER: return .integer(Int(reply.integer))
    case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: return .text(String(cString: reply.str))
    case REDIS_REPLY_ERROR: throw Failure(message: String(cString: reply.str))
    case REDIS_REPLY_ARRAY:
      return .list(try (0..<reply.elements).map { try convert(reply.element[$0]!.pointee) })
    default: return .none
    }
  }
}
