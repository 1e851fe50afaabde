// Files reach a server in order, one at a time.
//
//     swift run --package-path examples/swift ordered_uploads ADDRESS
//
// (The address is what Tests/Examples/upload_server.py has printed.) What to look at: the uploads
// are enqueued by synchronous code. Each is over when the server has answered, not when it has been
// started, and only then the next one starts.

import AsyncQueue
import Foundation
import Synchronization

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct Refusal: LocalizedError {
  let status: Int
  var errorDescription: String? { "the server answered \(status)" }
}

func complain(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }

func send(_ request: URLRequest) async throws -> Data {
  let (data, response) = try await URLSession.shared.data(for: request)
  let status = (response as? HTTPURLResponse)?.statusCode ?? 0
  guard (200..<300).contains(status) else { throw Refusal(status: status) }
  return data
}

final class Uploads: Sendable {
  private let queue = FIFOQueue(label: "uploads")
  private let address: URL
  private let counter = Mutex(0)

  init(to address: URL) { self.address = address }

  /// Returns at once.
  func add(_ number: Int) {
    var request = URLRequest(url: address.appendingPathComponent("\(number)"), timeoutInterval: 20)
    request.httpMethod = "PUT"
    request.httpBody = Data("contents of \(number)".utf8)
    queue.enqueue { [self, request] in
      do {
        _ = try await send(request)
        counter.withLock { $0 += 1 }
      } catch {
        complain("\(number): \(error.localizedDescription)")
      }
    }
  }

  /// Waits for all uploads, and returns how many were stored.
  func wait() async throws -> Int {
    try await queue.drain()
    return counter.withLock { $0 }
  }
}

guard CommandLine.arguments.count == 2, let server = URL(string: CommandLine.arguments[1]) else {
  complain("usage: ordered_uploads ADDRESS")
  exit(EXIT_FAILURE)
}
let files = server.appendingPathComponent("files")
let uploads = Uploads(to: files)
for number in 1...20 { uploads.add(number) }
print("\(try await uploads.wait()) of 20 files uploaded; the server says:")
do {
  let list = try await send(URLRequest(url: files, timeoutInterval: 20))
  print(String(decoding: list, as: UTF8.self), terminator: "")
} catch {
  complain("\(server): \(error.localizedDescription)")
  exit(EXIT_FAILURE)
}
